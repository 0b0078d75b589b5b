// SPDX-License-Identifier: Apache-2.0
// A hook in Rust with rustc alone, without a crate: rustc --crate-type cdylib rust_hook.rs
// What is here by hand is abi.h: the tables that it uses, and the note's layout.
#![allow(non_upper_case_globals)]
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr::{addr_of, null_mut};

const OK: i32 = 0;
const UNKNOWN: i32 = 2;
const INVALID_ARGUMENT: i32 = 3;
const INFO: i32 = 20;
const VALUE_FLOAT: i32 = 3;

#[repr(C)]
#[derive(Clone, Copy)]
struct Str {
    data: *const u8,
    size: u64,
}

impl Str {
    fn new(text: &str) -> Str {
        Str { data: text.as_ptr(), size: text.len() as u64 }
    }
    fn bytes(&self) -> &[u8] {
        if self.size == 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.data, self.size as usize) }
    }
}

#[repr(C)]
struct Status {
    text: *mut u8,
    capacity: u64,
    size: u64,
}

#[repr(C)]
struct NamedValue {
    name: Str,
    kind: i32,
    reserved: u32,
    count: u64,
    data: *const c_void,
}

#[repr(C)]
struct HostApi {
    struct_size: u32,
    reserved: u32,
    service: extern "C" fn(*mut c_void, Str) -> *const c_void,
}

// The first slot of the service "core".
#[repr(C)]
struct CoreApi {
    struct_size: u32,
    reserved: u32,
    log: extern "C" fn(*mut c_void, i32, Str),
}

type Create =
    extern "C" fn(*const HostApi, *mut c_void, *const NamedValue, u64, *mut *mut c_void, *mut Status) -> i32;
type SessionCall = extern "C" fn(*mut c_void, *mut c_void, *mut Status) -> i32;

#[repr(C)]
struct HookApi {
    struct_size: u32,
    reserved: u32,
    create: Create,
    destroy: extern "C" fn(*mut c_void),
    extension: usize,
    begin: usize, // slots that are not used are null
    after_create_session: usize,
    before_run: usize,
    after_run: usize,
    end: SessionCall,
    before_save: usize,
    after_save: usize,
    on_error: usize,
    save_state: usize,
    load_state: usize,
}

#[repr(C)]
struct Plugin {
    kind: i32,
    reserved: u32,
    name: *const u8,
    table: *const HookApi,
}

#[repr(C)]
pub struct Module {
    magic: u64,
    struct_size: u32,
    abi_major: u32,
    abi_minor: u32,
    flags: u32,
    reserved: u64,
    note: *const u8,
    note_size: u64,
    plugins: *const *const Plugin,
    n_plugins: u64,
}
unsafe impl Sync for Module {}
unsafe impl Sync for Plugin {}

struct PluginList([*const Plugin; 1]);
unsafe impl Sync for PluginList {}

struct Hook {
    steps: Vec<f64>,
}

fn report(status: *mut Status, code: i32, text: &str) -> i32 {
    unsafe {
        let n = text.len().min((*status).capacity as usize);
        std::ptr::copy_nonoverlapping(text.as_ptr(), (*status).text, n);
        (*status).size = n as u64;
    }
    code
}

extern "C" fn create(
    api: *const HostApi,
    host: *mut c_void,
    options: *const NamedValue,
    n: u64,
    out: *mut *mut c_void,
    status: *mut Status,
) -> i32 {
    // No panic may cross the boundary.
    let made = catch_unwind(|| {
        let mut max = 10.0;
        for i in 0..n as usize {
            let option = unsafe { &*options.add(i) };
            if option.name.bytes() == b"max" && option.kind == VALUE_FLOAT {
                max = unsafe { *(option.data as *const f64) };
            }
        }
        if max < 0.0 {
            return Err(format!("'max' is {}, must be >= 0", max));
        }
        let core = unsafe { ((*api).service)(host, Str::new("core")) } as *const CoreApi;
        unsafe { ((*core).log)(host, INFO, Str::new(&format!("max {:.6}", max))) };
        Ok(Box::new(Hook { steps: vec![max] }))
    });
    match made {
        Ok(Ok(hook)) => {
            unsafe { *out = Box::into_raw(hook) as *mut c_void };
            OK
        }
        Ok(Err(text)) => report(status, INVALID_ARGUMENT, &text),
        Err(_) => report(status, UNKNOWN, "panicked"),
    }
}

extern "C" fn destroy(this: *mut c_void) {
    if this != null_mut() {
        drop(unsafe { Box::from_raw(this as *mut Hook) });
    }
}

extern "C" fn end(this: *mut c_void, _session: *mut c_void, status: *mut Status) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(|| {
        let hook = unsafe { &*(this as *const Hook) };
        if hook.steps.len() == 1 {
            panic!("thrown on purpose");
        }
    });
    match result {
        Ok(()) => OK,
        Err(text) => report(status, UNKNOWN, text.downcast_ref::<&str>().copied().unwrap_or("panicked")),
    }
}

static table: HookApi = HookApi {
    struct_size: std::mem::size_of::<HookApi>() as u32,
    reserved: 0,
    create,
    destroy,
    extension: 0,
    begin: 0,
    after_create_session: 0,
    before_run: 0,
    after_run: 0,
    end,
    before_save: 0,
    after_save: 0,
    on_error: 0,
    save_state: 0,
    load_state: 0,
};
static plugin: Plugin = Plugin { kind: 1, reserved: 0, name: b"hand_built\0".as_ptr(), table: &table };
static plugins: PluginList = PluginList([&plugin]);

const TEXT: &[u8] = b"{\"abi\": [0, 4], \"version\": \"0.0.1\", \"toolchain\": \"rustc\", \"isa\": [], \"plugins\": [{\
\"kind\": \"hook\", \"name\": \"hand_built\", \"doc\": \"Built without any build system\", \"options\": [{\
\"name\": \"max\", \"type\": \"float\", \"default\": 10, \"min\": 0, \"help\": \"a limit\"}]}]}";
const PADDED: usize = (TEXT.len() + 3) / 4 * 4;

#[repr(C, align(4))]
struct Note {
    name_size: u32,
    text_size: u32,
    kind: u32,
    name: [u8; 8],
    text: [u8; PADDED],
}

const fn padded() -> [u8; PADDED] {
    let mut out = [0; PADDED];
    let mut i = 0;
    while i < TEXT.len() {
        out[i] = TEXT[i];
        i += 1;
    }
    out
}

#[used]
#[link_section = ".note.belay"]
static note: Note =
    Note { name_size: 6, text_size: TEXT.len() as u32, kind: 1, name: *b"BELAY\0\0\0", text: padded() };

#[no_mangle]
pub static belay_module_v0: Module = Module {
    magic: 0x003079616c6562b3,
    struct_size: std::mem::size_of::<Module>() as u32,
    abi_major: 0,
    abi_minor: 4,
    flags: 0,
    reserved: 0,
    note: addr_of!(note.text) as *const u8,
    note_size: TEXT.len() as u64,
    plugins: addr_of!(plugins.0) as *const *const Plugin,
    n_plugins: 1,
};

