//! Values that DuckDB stores for us.

use std::ffi::c_void;

/// Gives DuckDB a boxed value to store; it returns it to [`drop_box`].
pub(crate) fn into_host<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

/// Drops a value from [`into_host`].
pub(crate) extern "C" fn drop_box<T>(pointer: *mut c_void) {
    // A panic in a destructor must not reach the host either.
    let _ = crate::guard::guard(|| {
        // SAFETY: DuckDB hands back each pointer it was given by `into_host::<T>` once.
        drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
        Ok(())
    });
}
