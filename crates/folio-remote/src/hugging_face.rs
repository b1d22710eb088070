//! Files of repositories of the Hugging Face Hub: `hf://datasets/owner/name@revision/path`.
//!
//! The form is that of the Hub's own file system for Python: `datasets/` or `spaces/` before the
//! repository, none for a model; a revision after `@`, its slashes encoded, otherwise `main`.
//! The names in a folder come from the Hub's interface: `/api/datasets/owner/name/tree/main/folder`.
//! Who asks has a token in the environment, or in the file that `hf auth login` writes.

use std::io;
use std::path::PathBuf;

use folio_file::RemoteError;

use crate::encoding::{IN_PATH, RESERVED, decode, encode};
use crate::surroundings::Surroundings;

/// A repository at a revision.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// What URLs of files begin with, and those of the names in a folder; without a slash at their
    /// end.
    files: String,
    names: String,
}

impl Repository {
    /// Where the names in a folder are, by the URL of the folder.
    pub(crate) fn names_url(&self, url: &str) -> String {
        format!("{}{}", self.names, self.inside(url))
    }

    /// The path of a folder, by its URL: empty, or with a slash at its start; encoded.
    pub(crate) fn inside<'u>(&self, url: &'u str) -> &'u str {
        url.strip_prefix(&self.files).unwrap_or_default()
    }
}

/// The repository of a path, the URL of the path, and the value of the header `authorization`.
///
/// # Errors
/// `InvalidInput` where no repository is named.
pub(crate) fn find(
    rest: &str,
    around: &Surroundings<'_>,
) -> io::Result<(Repository, String, Option<String>)> {
    let kind = rest.split('/').next().filter(|first| ["datasets", "spaces"].contains(first));
    let path = kind.map_or(rest, |kind| rest[kind.len()..].trim_start_matches('/'));
    let mut parts = path.splitn(3, '/');
    let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    if owner.is_empty() || name.is_empty() || revision.is_empty() {
        let text = "the URL names no repository; write hf://datasets/owner/name/path";
        return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
    }
    let endpoint = around.first(&["HF_ENDPOINT"]);
    let endpoint = endpoint.unwrap_or_else(|| "https://huggingface.co".to_owned());
    let endpoint = endpoint.trim_end_matches('/');
    let revision = encode(&String::from_utf8_lossy(&decode(revision)), RESERVED);
    let owned = format!("{}/{}", encode(owner, RESERVED), encode(name, RESERVED));
    let prefix = kind.map_or(String::new(), |kind| format!("{kind}/"));
    let repository = Repository {
        files: format!("{endpoint}/{prefix}{owned}/resolve/{revision}"),
        names: format!("{endpoint}/api/{}/{owned}/tree/{revision}", kind.unwrap_or("models")),
    };
    let mut url = repository.files.clone();
    if let Some(path) = parts.next().filter(|path| !path.is_empty()) {
        url.push('/');
        url.push_str(&encode(path, IN_PATH));
    }
    Ok((repository, url, token(around)?.map(|token| format!("Bearer {token}"))))
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
        for (text, url, names) in [
            (
                "datasets/o/n/x.zds",
                "/datasets/o/n/resolve/main/x.zds",
                "/api/datasets/o/n/tree/main/x.zds",
            ),
            (
                "datasets/o/n@v1.0/a b/x",
                "/datasets/o/n/resolve/v1.0/a%20b/x",
                "/api/datasets/o/n/tree/v1.0/a%20b/x",
            ),
            (
                "datasets/o/n@refs%2Fpr%2F1",
                "/datasets/o/n/resolve/refs%2Fpr%2F1",
                "/api/datasets/o/n/tree/refs%2Fpr%2F1",
            ),
            ("o/n/x", "/o/n/resolve/main/x", "/api/models/o/n/tree/main/x"),
        ] {
            let (repository, found, token) = within(&[], &[], |around| find(text, around)).unwrap();
            assert_eq!((found, token), (format!("{hub}{url}"), None), "{text}");
            let found = repository.names_url(&format!("{hub}{url}"));
            assert_eq!(found, format!("{hub}{names}"), "{text}");
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
