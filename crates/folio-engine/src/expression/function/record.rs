//! Structs: construction and field access.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::DataType;
use folio_compute::{Error, Result, array};
use folio_types::ColumnType;

use super::{Body, Call, Function, Kernel};

impl Function {
    /// Access to the n-th field of a struct.
    pub fn field(ty: ColumnType, index: usize, returns: ColumnType) -> Self {
        Self { member: Some(index), ..Self::whole("field", vec![ty], returns, field) }
    }

    /// Construction of a struct from its arguments.
    pub fn row(fields: Vec<(String, ColumnType)>) -> Self {
        let parameters = fields.iter().map(|(_, ty)| ty.clone()).collect();
        Self::whole("row", parameters, ColumnType::Struct(fields), row)
    }

    fn whole(
        name: &'static str,
        parameters: Vec<ColumnType>,
        returns: ColumnType,
        kernel: Kernel,
    ) -> Self {
        Self {
            name: name.into(),
            parameters,
            returns,
            kernel,
            body: Body::Whole(kernel),
            member: None,
            is_volatile: false,
            is_stable: false,
        }
    }
}

fn field(call: &Call<'_>) -> Result<ArrayRef> {
    array::member_of(call.arrays[0].as_struct(), call.function.member.unwrap_or_default())
}

fn row(call: &Call<'_>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = call.function.returns.to_arrow() else {
        return Err(Error::unsupported("a row is a struct"));
    };
    Ok(Arc::new(StructArray::try_new(fields, call.arrays.to_vec(), None)?))
}
