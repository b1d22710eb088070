//! Tokens for service accounts (RFC 7523).
//!
//! A claim that the key of the account has signed is exchanged for a token, which most often is
//! valid for an hour. The token is kept until shortly before its end, so a scan of many requests
//! asks for one. The key itself is not sent.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use folio_file::RemoteError;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use crate::bucket::{Secret, ServiceAccount};
use crate::encoding::{RESERVED, encode};

/// What the token is for: reading files, and writing them where the account may.
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";

/// Seconds for which a claim is valid, the most that Google takes.
const CLAIM_SECONDS: i64 = 3600;

/// Seconds before its end from which on a token is not used.
const MARGIN_SECONDS: i64 = 60;

/// The tokens of a client, by the account and its key.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<HashMap<(String, String), Token>>);

#[derive(Debug)]
struct Token {
    text: Secret<String>,
    /// In seconds since the epoch.
    end: i64,
}

impl Tokens {
    /// A token for an account. `exchange` posts a form to a URL and returns the answer; threads
    /// that need the same token wait for it.
    ///
    /// # Errors
    /// Those of `exchange`; `InvalidInput` for a key that cannot sign; an answer without a token.
    pub(crate) fn of<E: From<io::Error>>(
        &self,
        account: &ServiceAccount,
        now: Timestamp,
        exchange: impl FnOnce(&str, &str) -> Result<String, E>,
    ) -> Result<String, E> {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (account.email.clone(), account.key_id.clone());
        let second = now.as_second();
        if let Some(token) = tokens.get(&name).filter(|token| second < token.end) {
            return Ok(token.text.0.clone());
        }
        let form = format!(
            "grant_type={}&assertion={}",
            encode("urn:ietf:params:oauth:grant-type:jwt-bearer", RESERVED),
            claim(account, second)?
        );
        let answer = exchange(&account.token_url, &form)?;
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let Some(text) = answer.get("access_token").and_then(Value::as_str) else {
            let text = "the answer to a service account has no token";
            return Err(RemoteError::io(io::ErrorKind::InvalidData, text).into());
        };
        let seconds = answer.get("expires_in").and_then(Value::as_i64).unwrap_or(0);
        let end = second.saturating_add(seconds).saturating_sub(MARGIN_SECONDS);
        tokens.insert(name, Token { text: Secret(text.to_owned()), end });
        Ok(text.to_owned())
    }
}

/// The claim to be an account, as a signed JSON web token (RFC 7519).
fn claim(account: &ServiceAccount, second: i64) -> io::Result<String> {
    let head = json!({"alg": "RS256", "typ": "JWT", "kid": account.key_id});
    let claim = json!({
        "iss": account.email,
        "scope": SCOPE,
        "aud": account.token_url,
        "iat": second,
        "exp": second + CLAIM_SECONDS,
    });
    let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    signed(&format!("{}.{}", text(&head), text(&claim)), &account.key.0)
}

/// A text with its signature (RFC 7515, RS256).
fn signed(text: &str, key: &[u8]) -> io::Result<String> {
    let wrong = || {
        let text = "the key of the service account cannot sign: it is not an RSA key in PKCS #8; \
                    check GOOGLE_APPLICATION_CREDENTIALS";
        RemoteError::io(io::ErrorKind::InvalidInput, text)
    };
    let key = RsaKeyPair::from_pkcs8(key).map_err(|_| wrong())?;
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| wrong())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(&signature)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::from_base64;
    use crate::surroundings::within;

    /// An account with the key of RFC 7515.
    fn account() -> ServiceAccount {
        let text = include_str!("../../../../conformance/clouds/service-account.json");
        within(&[], &[("/a.json", text)], |around| super::super::account::read("/a.json", around))
            .unwrap()
    }

    /// The example of RFC 7515, A.2.
    #[test]
    fn signs_as_the_standard_does() {
        let text = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly\
                    9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let expected = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0\
                        Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnby\
                        TyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jz\
                        DwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rq\
                        Vt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        assert_eq!(signed(text, &account().key.0).unwrap(), format!("{text}.{expected}"));
        assert_eq!(signed(text, b"none").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_claim_says_who_for_what_and_how_long() {
        let claim = claim(&account(), 1_000).unwrap();
        let part = |at: usize| -> Value {
            let text = claim.split('.').nth(at).unwrap().replace('-', "+").replace('_', "/");
            let padding = "=".repeat(text.len().next_multiple_of(4) - text.len());
            serde_json::from_slice(&from_base64(&(text + &padding)).unwrap()).unwrap()
        };
        assert_eq!(part(0), json!({"alg": "RS256", "typ": "JWT", "kid": "rfc7515-a2"}));
        let expected = json!({
            "iss": "reader@example.iam.gserviceaccount.com",
            "scope": "https://www.googleapis.com/auth/devstorage.read_write",
            "aud": "https://oauth2.googleapis.com/token",
            "iat": 1_000,
            "exp": 4_600,
        });
        assert_eq!(part(1), expected);
    }

    #[test]
    fn a_token_is_used_until_shortly_before_its_end() {
        let (tokens, account) = (Tokens::default(), account());
        let mut count = 0;
        let mut ask = |second: i64, answer: io::Result<&str>| {
            tokens.of(&account, Timestamp::from_second(second).unwrap(), |url, form| {
                assert_eq!(url, "https://oauth2.googleapis.com/token");
                let start =
                    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey";
                assert!(form.starts_with(start), "{form}");
                count += 1;
                answer.map(|text| text.replace("COUNT", &count.to_string()))
            })
        };
        let answer = r#"{"access_token": "tCOUNT", "expires_in": 3600}"#;
        for (second, expected) in
            [(0, "t1"), (1, "t1"), (3_539, "t1"), (3_540, "t2"), (7_079, "t2")]
        {
            assert_eq!(ask(second, Ok(answer)).unwrap(), expected, "{second}");
        }
        // One that says no end is not kept, and neither is an error.
        assert_eq!(ask(8_000, Ok(r#"{"access_token": "tCOUNT"}"#)).unwrap(), "t3");
        assert!(ask(8_000, Err(io::ErrorKind::TimedOut.into())).is_err());
        assert!(ask(8_000, Ok("hidden")).is_err_and(|error| !error.to_string().contains("hidden")));
        assert_eq!(ask(8_000, Ok(answer)).unwrap(), "t6");
        assert!(!format!("{tokens:?} {account:?}").contains("t6"));
    }
}
