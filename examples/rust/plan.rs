// SPDX-License-Identifier: Apache-2.0
//
// Neap from Rust, through its C interface: rustc -L native=LIB plan.rs && ./plan MODEL
use std::ffi::{c_char, c_int, CStr, CString};
use std::ptr;

#[repr(C)]
struct NeapModel {
    _opaque: [u8; 0],
}
#[repr(C)]
struct NeapOptions {
    _opaque: [u8; 0],
}
#[repr(C)]
struct NeapPlan {
    _opaque: [u8; 0],
}
#[repr(C)]
struct NeapError {
    _opaque: [u8; 0],
}

#[link(name = "neap")]
extern "C" {
    fn neap_model_read(
        path: *const c_char,
        dims: *const *const c_char,
        num_dims: usize,
        error: *mut *mut NeapError,
    ) -> *mut NeapModel;
    fn neap_model_free(model: *mut NeapModel);
    fn neap_plan_make(
        model: *const NeapModel,
        options: *const NeapOptions,
        error: *mut *mut NeapError,
    ) -> *mut NeapPlan;
    fn neap_plan_arena_bytes(plan: *const NeapPlan) -> i64;
    fn neap_plan_lower_bound_bytes(plan: *const NeapPlan) -> i64;
    fn neap_plan_free(plan: *mut NeapPlan);
    fn neap_check(
        model: *const NeapModel,
        plan: *const NeapPlan,
        error: *mut *mut NeapError,
    ) -> c_int;
    fn neap_error_message(error: *const NeapError) -> *const c_char;
    fn neap_error_free(error: *mut NeapError);
}

fn message(error: *mut NeapError) -> String {
    unsafe {
        let text = CStr::from_ptr(neap_error_message(error)).to_string_lossy().into_owned();
        neap_error_free(error);
        text
    }
}

fn plan(path: &str) -> Result<(i64, i64), String> {
    let path = CString::new(path).map_err(|error| error.to_string())?;
    let mut error = ptr::null_mut();
    unsafe {
        let model = neap_model_read(path.as_ptr(), ptr::null(), 0, &mut error);
        if model.is_null() {
            return Err(message(error));
        }
        let plan = neap_plan_make(model, ptr::null(), &mut error);
        if plan.is_null() {
            neap_model_free(model);
            return Err(message(error));
        }
        let bytes = (neap_plan_arena_bytes(plan), neap_plan_lower_bound_bytes(plan));
        let wrong = neap_check(model, plan, &mut error);
        neap_plan_free(plan);
        neap_model_free(model);
        if wrong != 0 {
            return Err(message(error));
        }
        Ok(bytes)
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: plan MODEL");
    match plan(&path) {
        Ok((arena, bound)) => println!("arena {arena} B, no plan of this graph has less than {bound} B"),
        Err(why) => {
            eprintln!("plan: {why}");
            std::process::exit(1);
        }
    }
    assert!(plan("/nowhere/model.tflite").unwrap_err().contains("/nowhere/model.tflite"));
}
