//! Files of repositories of the Hugging Face Hub: `hf://datasets/owner/name@revision/path`.
//!
//! The form is that of the Hub's own file system for Python: `datasets/` or `spaces/` before the
//! repository, none for a model; a revision after `@`, its slashes encoded, otherwise `main`.
//! Who asks has a token in the environment, or in the file that `hf auth login` writes.

use std::io;
use std::path::PathBuf;

use folio_file::RemoteError;

use crate::encoding::{decode, encode};
use crate::surroundings::Surroundings;

/// The URL of a path, encoded, and the value of the header `authorization`.
///
/// # Errors
/// `InvalidInput` where no repository is named.
pub(crate) fn find(rest: &str, around: &Surroundings<'_>) -> io::Result<(String, Option<String>)> {
    let kind = rest.split('/').next().filter(|first| ["datasets", "spaces"].contains(first));
    let repository = kind.map_or(rest, |kind| rest[kind.len()..].trim_start_matches('/'));
    let mut parts = repository.splitn(3, '/');
    let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    if owner.is_empty() || name.is_empty() || revision.is_empty() {
        let text = "the URL names no repository; write hf://datasets/owner/name/path";
        return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
    }
    let endpoint = around.first(&["HF_ENDPOINT"]);
    let endpoint = endpoint.unwrap_or_else(|| "https://huggingface.co".to_owned());
    let mut url = endpoint.trim_end_matches('/').to_owned();
    let revision = String::from_utf8_lossy(&decode(revision)).into_owned();
    for part in kind.into_iter().chain([owner, name, "resolve"]) {
        url.push('/');
        url.push_str(&encode(part, ""));
    }
    url.push('/');
    url.push_str(&encode(&revision, ""));
    if let Some(path) = parts.next().filter(|path| !path.is_empty()) {
        url.push('/');
        url.push_str(&encode(path, "/"));
    }
    Ok((url, token(around)?.map(|token| format!("Bearer {token}"))))
}

/// The token of the user.
fn token(around: &Surroundings<'_>) -> io::Result<Option<String>> {
    if let Some(token) = around.first(&["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]) {
        return Ok(Some(token));
    }
    let given = around.first(&["HF_TOKEN_PATH"]).map(PathBuf::from);
    let of_hub = || Some(PathBuf::from(around.first(&["HF_HOME"])?).join("token"));
    let of_user = || Some(around.home()?.join(".cache/huggingface/token"));
    let Some(path) = given.or_else(of_hub).or_else(of_user) else { return Ok(None) };
    let token = around.read(&path)?.trim().to_owned();
    Ok(Some(token).filter(|token| !token.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    #[test]
    fn a_repository_has_a_kind_and_a_revision() {
        let hub = "https://huggingface.co";
        for (text, url) in [
            ("datasets/o/n/x.zds", "/datasets/o/n/resolve/main/x.zds"),
            ("datasets/o/n@v1.0/a b/x", "/datasets/o/n/resolve/v1.0/a%20b/x"),
            ("datasets/o/n@refs%2Fpr%2F1", "/datasets/o/n/resolve/refs%2Fpr%2F1"),
            ("o/n/x", "/o/n/resolve/main/x"),
        ] {
            let found = within(&[], &[], |around| find(text, around)).unwrap();
            assert_eq!(found, (format!("{hub}{url}"), None), "{text}");
        }
        for text in ["", "datasets", "datasets/o", "o", "o/@r/x", "datasets/o/n@/x"] {
            let error = within(&[], &[], |around| find(text, around)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{text}");
        }
    }

    #[test]
    fn a_token_comes_from_the_environment_or_the_file() {
        let files = [("/h/.cache/huggingface/token", "f\n"), ("/hub/token", "g")];
        let of = |variables: &[(&str, &str)]| within(variables, &files, token);
        let home = ("HOME", "/h");
        assert_eq!(of(&[]).unwrap(), None);
        assert_eq!(of(&[home]).unwrap().unwrap(), "f");
        assert_eq!(of(&[home, ("HF_HOME", "/hub")]).unwrap().unwrap(), "g");
        assert_eq!(of(&[home, ("HF_TOKEN", "e")]).unwrap().unwrap(), "e");
        assert_eq!(of(&[home, ("HF_HOME", "/none")]).unwrap(), None);
    }
}
