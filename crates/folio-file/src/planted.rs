//! Bugs planted on purpose, for the suites that must notice them.

/// Declares the ways in which a store can be made to break its promises.
///
/// Each line names a bug and the question the store asks where it would sit. In a crate
/// with the feature `planted-bugs` this makes `pub enum PlantedBug` with its list `ALL`,
/// and `Switches`, which holds one of them or none. Without the feature `Switches` is
/// empty and every question answers `false`, so that a build for use cannot have a bug
/// of these.
#[macro_export]
macro_rules! planted_bugs {
    ($($(#[$says:meta])* $bug:ident => $question:ident,)*) => {
        /// A bug that a store opened with it has.
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

        /// The planted bug, if there can be any.
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
