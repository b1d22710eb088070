//! Bugs planted on purpose, for the suites that must notice them.

/// Declares the ways in which a store can be made to break its promises.
///
/// Each line names a bug and the method that the store calls at its place. In a crate with the
/// feature `planted-bugs` this makes `pub enum PlantedBug` with its list `ALL`, and `Switches`,
/// which holds one of them or none. Without the feature `Switches` is empty and every method
/// returns `false`, so a release build cannot have these bugs.
#[macro_export]
macro_rules! planted_bugs {
    ($($(#[$says:meta])* $bug:ident => $question:ident,)*) => {
        /// A bug to open a store with.
        #[cfg(feature = "planted-bugs")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PlantedBug {
            $($(#[$says])* $bug,)*
        }

        #[cfg(feature = "planted-bugs")]
        impl PlantedBug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug,)*];
        }

        /// The planted bug, if the feature is on.
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Switches {
            #[cfg(feature = "planted-bugs")]
            pub(crate) planted: Option<PlantedBug>,
        }

        impl Switches {
            $(
                #[cfg(feature = "planted-bugs")]
                pub(crate) fn $question(self) -> bool {
                    self.planted == Some(PlantedBug::$bug)
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
