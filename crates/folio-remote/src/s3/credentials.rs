//! The settings that every program of AWS reads.

use std::io;
use std::path::PathBuf;

use folio_file::RemoteError;

use crate::bucket::{Keys, Secret};
use crate::surroundings::Surroundings;

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
    /// A file that exists and cannot be read; `InvalidInput` if none has the profile asked for.
    pub(super) fn find(around: &Surroundings<'_>) -> io::Result<Self> {
        let variable = |name: &str| around.first(&[name]);
        let mut found = Self {
            endpoint: around.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]),
            region: around.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]),
            keys: keys_of(
                variable,
                ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
            ),
        };
        let home = around.home();
        let file = |name: &str, default: &str| {
            let given = variable(name).map(PathBuf::from);
            given.or_else(|| Some(home.as_ref()?.join(".aws").join(default)))
        };
        let asked = variable("AWS_PROFILE");
        let profile = asked.clone().unwrap_or_else(|| "default".to_owned());
        let headings = [format!("profile {profile}"), profile];
        let mut is_known = false;
        for (name, default) in
            [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")]
        {
            let Some(path) = file(name, default) else { continue };
            let text = around.read(&path)?;
            is_known |= headings.iter().any(|heading| has_heading(&text, heading));
            let value = |key: &str| {
                headings.iter().find_map(|heading| value_in(&text, heading, key)).map(str::to_owned)
            };
            let keys = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
            found.keys = found.keys.or_else(|| keys_of(value, keys));
            found.region = found.region.or_else(|| value("region"));
            found.endpoint = found.endpoint.or_else(|| value("endpoint_url"));
        }
        if let Some(profile) = asked.filter(|_| !is_known && found.keys.is_none()) {
            let text = format!(
                "AWS_PROFILE names the profile {profile:?}, which is in neither ~/.aws/credentials \
                 nor ~/.aws/config; check the name, or unset it"
            );
            return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
        }
        Ok(found)
    }
}

/// The keys, if both are there.
fn keys_of(value: impl Fn(&str) -> Option<String>, names: [&str; 3]) -> Option<Keys> {
    let [id, secret, token] = names.map(value);
    Some(Keys { id: id?, secret: Secret(secret?), token: token.map(Secret) })
}

/// Whether an INI file has a heading.
fn has_heading(text: &str, heading: &str) -> bool {
    text.lines().any(|line| heading_of(line) == Some(heading))
}

/// The heading that a line is.
fn heading_of(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

/// The value of a key under a heading of an INI file.
fn value_in<'t>(text: &'t str, heading: &str, key: &str) -> Option<&'t str> {
    let mut is_in = false;
    let mut found = None;
    for line in text.lines() {
        if let Some(name) = heading_of(line) {
            is_in = name == heading;
        } else if is_in
            // An indented line belongs to a setting of another service.
            && !line.starts_with(char::is_whitespace)
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = Some(value.trim());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let files = [
            (
                "/h/.aws/credentials",
                "[default]\naws_access_key_id = A\naws_secret_access_key=B\n# [other]\n\
                 [other]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n",
            ),
            (
                "/h/.aws/config",
                "[default]\nregion=r1\ns3 =\n  region=x\n[profile other]\nregion = r2\n",
            ),
        ];
        within(variables, &files, Settings::find).unwrap()
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
        let wrong = [home, ("AWS_PROFILE", "othr")];
        let files = [("/h/.aws/config", "[default]\nregion=r1\n")];
        let error = within(&wrong, &files, Settings::find).unwrap_err().to_string();
        assert!(error.contains("\"othr\"") && error.contains("check the name"), "{error}");
        // One key alone is none.
        assert_eq!(of(&[home, keys[0]]), ("A".to_owned(), "r1".to_owned()));
        assert!(!format!("{:?}", settings(&all)).contains('Y'));
    }
}
