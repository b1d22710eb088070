//! The settings that every program of AWS reads.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{FileKind, FileSystem, OpenMode};

use super::Keys;

/// The largest file of settings that is read.
const FILE_LIMIT: u64 = 1 << 20;

/// Where buckets are, and who asks.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) keys: Option<Keys>,
}

impl Settings {
    /// From the environment, and for what it does not say from the profile.
    ///
    /// # Errors
    /// A file that exists and cannot be read.
    pub(super) fn find(
        files: &dyn FileSystem,
        variable: impl Fn(&str) -> Option<String>,
    ) -> io::Result<Self> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut found = Self {
            endpoint: variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL")),
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
            keys: keys_of(
                variable,
                ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
            ),
        };
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let file = |name: &str, default: &str| {
            let given = variable(name).map(PathBuf::from);
            given.or_else(|| Some(home.as_ref()?.join(".aws").join(default)))
        };
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let headings = [format!("profile {profile}"), profile];
        for (name, default) in
            [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")]
        {
            let Some(path) = file(name, default) else { continue };
            let text = read(files, &path)?;
            let value = |key: &str| {
                headings.iter().find_map(|heading| value_in(&text, heading, key)).map(str::to_owned)
            };
            let keys = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
            found.keys = found.keys.or_else(|| keys_of(value, keys));
            found.region = found.region.or_else(|| value("region"));
            found.endpoint = found.endpoint.or_else(|| value("endpoint_url"));
        }
        Ok(found)
    }
}

/// The keys, if both are there.
fn keys_of(value: impl Fn(&str) -> Option<String>, names: [&str; 3]) -> Option<Keys> {
    let [id, secret, token] = names.map(value);
    Some(Keys { id: id?, secret: secret?, token })
}

/// The text of a file; empty if there is none, or another thing: `/dev/null` means no file.
fn read(files: &dyn FileSystem, path: &Path) -> io::Result<String> {
    match files.stat(path) {
        Ok(stat) if stat.kind == FileKind::File => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(String::new()),
    }
    let file = files.open(path, OpenMode::Read)?;
    let mut bytes = vec![0; file.stat()?.size.min(FILE_LIMIT) as usize];
    let read = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

/// The value of a key under a heading of an INI file.
fn value_in<'t>(text: &'t str, heading: &str, key: &str) -> Option<&'t str> {
    let mut is_in = false;
    let mut found = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_in = name.trim() == heading;
        } else if is_in
            // An indented line belongs to a setting of another service.
            && !line.starts_with(char::is_whitespace)
            && let Some((name, value)) = trimmed.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = Some(value.trim());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use folio_file::MemoryFileSystem;

    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new("/h/.aws")).unwrap();
        let put = |path: &str, text: &str| {
            files.open(Path::new(path), OpenMode::Append).unwrap().append(text.as_bytes()).unwrap();
        };
        put(
            "/h/.aws/credentials",
            "[default]\naws_access_key_id = A\naws_secret_access_key=B\n# [other]\n\
             [other]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n",
        );
        put(
            "/h/.aws/config",
            "[default]\nregion=r1\ns3 =\n  region=x\n[profile other]\nregion = r2\n",
        );
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::find(&files, variable).unwrap()
    }

    #[test]
    fn the_environment_comes_before_the_profile() {
        let of = |variables: &[(&str, &str)]| {
            let found = settings(variables);
            let id = found.keys.as_ref().map(|keys| keys.id.clone());
            (id.unwrap_or_default(), found.region.unwrap_or_default())
        };
        let home = ("HOME", "/h");
        assert_eq!(of(&[]), (String::new(), String::new()));
        assert_eq!(of(&[home]), ("A".to_owned(), "r1".to_owned()));
        assert_eq!(of(&[home, ("AWS_PROFILE", "other")]), ("C".to_owned(), "r2".to_owned()));
        let keys = [("AWS_ACCESS_KEY_ID", "X"), ("AWS_SECRET_ACCESS_KEY", "Y")];
        let all = [home, keys[0], keys[1], ("AWS_REGION", "r3"), ("AWS_DEFAULT_REGION", "r4")];
        assert_eq!(of(&all), ("X".to_owned(), "r3".to_owned()));
        // A folder stands for whatever is no file, as /dev/null is none.
        assert_eq!(of(&[("AWS_CONFIG_FILE", "/h")]), (String::new(), String::new()));
        // One key alone is none.
        assert_eq!(of(&[home, keys[0]]), ("A".to_owned(), "r1".to_owned()));
        assert!(!format!("{:?}", settings(&all)).contains('Y'));
    }
}
