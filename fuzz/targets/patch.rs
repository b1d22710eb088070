//! A sound file with a few of its bytes replaced, as a fuzzer's input tells.

/// Patches applied at most.
const COUNT_MAX: usize = 16;

/// Applies patches to a file. Each is an offset (four bytes, taken modulo the size), a
/// count from 1 to 16 (one byte), and that many bytes. Answers the offsets.
pub(super) fn apply(mut input: &[u8], file: &mut [u8]) -> Vec<usize> {
    let mut offsets = Vec::new();
    while let Some((head, rest)) = input.split_at_checked(5)
        && offsets.len() < COUNT_MAX
        && !file.is_empty()
    {
        let offset = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize % file.len();
        let count = usize::from(head[4] % 16 + 1).min(rest.len()).min(file.len() - offset);
        file[offset..offset + count].copy_from_slice(&rest[..count]);
        offsets.push(offset);
        input = &rest[count..];
    }
    offsets
}
