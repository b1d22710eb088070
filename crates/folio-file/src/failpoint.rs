//! Failpoints: bugs that a test turns on, for the suites that must notice them.

/// Declares the ways in which a store can be made to break its promises.
///
/// Each line names a bug and the method that the store calls at its place. In a crate with the
/// feature `planted-bugs` this makes `pub enum Failpoint` with its list `ALL`, and `Failpoints`,
/// which holds one of them or none. Without the feature `Failpoints` is empty and every method
/// returns `false`, so a release build cannot have these bugs.
#[macro_export]
macro_rules! failpoints {
    ($($(#[$says:meta])* $bug:ident => $question:ident,)*) => {
        /// A bug to open a store with.
        #[cfg(feature = "planted-bugs")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Failpoint {
            $($(#[$says])* $bug,)*
        }

        #[cfg(feature = "planted-bugs")]
        impl Failpoint {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug,)*];
        }

        /// The failpoint that is on, if the feature is.
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Failpoints {
            #[cfg(feature = "planted-bugs")]
            pub(crate) failpoint: Option<Failpoint>,
        }

        impl Failpoints {
            $(
                #[cfg(feature = "planted-bugs")]
                pub(crate) fn $question(self) -> bool {
                    self.failpoint == Some(Failpoint::$bug)
                }

                #[cfg(not(feature = "planted-bugs"))]
                #[inline]
                #[allow(clippy::unused_self, reason = "the twin needs it")]
                pub(crate) fn $question(self) -> bool {
                    false
                }
            )*
        }
    };
}
