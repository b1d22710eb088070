//! FolioDB.
