//! Laws in the kernel: while this process lives, or until they are uninstalled.
#![expect(unsafe_code, reason = "mounting a file system is a system call")]

use crate::kernel_law::{KernelLaw, PREFIX};
use crate::ported::PORTED;
use libbpf_rs::{Link, MapCore, MapHandle, Object, ObjectBuilder, PrintLevel};
use narrows_settings::SettingError;
use std::ffi::CStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Where the kernel keeps pinned objects, on every machine.
const BPFFS: &CStr = c"/sys/fs/bpf";
/// Where ours are.
const OURS: &str = "/sys/fs/bpf/narrows";
/// Bytes of a name in the kernel, its end included (`TCP_CA_NAME_MAX`).
const NAME: usize = 16;

/// Why a law is not in the kernel.
#[derive(Debug)]
pub enum KernelError {
    /// It was asked for in a way that no kernel can do.
    Setting(SettingError),
    /// The kernel, or the file system of its objects, refused.
    Refused {
        /// What was tried.
        what: String,
        /// What the kernel said.
        why: String,
    },
    /// A congestion control of that name is there already.
    Taken(String),
    /// There is none of that name of ours.
    Absent(String),
    /// The kernel has it, but not to stay.
    Kept(String),
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(error) => error.fmt(f),
            Self::Refused { what, why } => {
                write!(f, "{what}: {why}")?;
                if why.contains("ermission denied") || why.contains("not permitted") {
                    f.write_str("; it needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")?;
                }
                Ok(())
            }
            Self::Taken(name) => {
                write!(f, "{name} is loaded already; narrows kernel unload {name} takes it away")
            }
            Self::Absent(name) => {
                write!(f, "{name} is not loaded by narrows; narrows kernel list shows what is")
            }
            Self::Kept(name) => write!(
                f,
                "the kernel has {name}, but narrows has not loaded it to stay: a process brought it \
                 along, or it was unloaded and goes when the last connection that uses it closes, \
                 which ss -ti shows"
            ),
        }
    }
}

impl std::error::Error for KernelError {}

impl From<SettingError> for KernelError {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}

pub(crate) fn refused(what: impl Into<String>, why: impl fmt::Display) -> KernelError {
    KernelError::Refused { what: what.into(), why: why.to_string() }
}

/// A law in the kernel; it goes when this goes. Connections that use it keep it until they close.
pub struct Loaded {
    name: String,
    link: Link,
    object: Object,
}

impl Loaded {
    /// Its name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A map of its program. Fails if it has none of that name.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, KernelError> {
        let found = self.object.maps().find(|map| map.name() == name);
        let found = found.ok_or_else(|| refused(name, "its program has no such map"))?;
        MapHandle::try_from(&found).map_err(|error| refused(name, error))
    }
}

/// A law of ours that stays without a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its name in the kernel.
    pub name: String,
    /// Settings that were given, as `name=value`.
    pub given: Vec<String>,
}

fn program(asked: &KernelLaw) -> &'static [u8] {
    let ported = PORTED.iter().find(|ported| ported.name == asked.law);
    ported.expect("what was asked for is in the table").program
}

/// What libbpf has said since it was last asked: the reason of a refusal.
static SAID: Mutex<String> = Mutex::new(String::new());

fn hear(level: PrintLevel, text: String) {
    if level == PrintLevel::Warn
        && let Ok(mut said) = SAID.lock()
    {
        said.push_str(&text);
    }
}

/// The first line that libbpf has said, or `otherwise`.
fn heard(otherwise: impl fmt::Display) -> String {
    let said = SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default();
    let line = said.lines().map(|line| line.trim_start_matches("libbpf: ")).next();
    line.map_or_else(|| otherwise.to_string(), |line| format!("{otherwise} ({line})"))
}

/// Loads a law as `name`, at most 15 bytes, or as [`KernelLaw::kernel_name`]. Fails if the kernel
/// refuses, or if the name is taken.
pub fn load(asked: &KernelLaw, name: Option<&str>) -> Result<Loaded, KernelError> {
    let name = name.map_or_else(|| asked.kernel_name(), str::to_owned);
    load_program(name, program(asked), &asked.settings)
}

/// Loads a `program` with its `settings` as the law `name`.
pub(crate) fn load_program(
    name: String,
    program: &[u8],
    settings: &[u64],
) -> Result<Loaded, KernelError> {
    if available()?.contains(&name) {
        return Err(KernelError::Taken(name));
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
    heard("");
    let what = || format!("{name} cannot be loaded");
    let mut open = ObjectBuilder::default()
        .open_memory(program)
        .map_err(|error| refused(what(), heard(error)))?;
    for mut map in open.maps_mut() {
        let of = map.name().to_string_lossy().into_owned();
        let value = map.initial_value_mut();
        match (of.as_str(), value) {
            ("law", Some(value)) => {
                value[..NAME].fill(0);
                let bytes = name.as_bytes().get(..name.len().min(NAME - 1)).unwrap_or_default();
                value[..bytes.len()].copy_from_slice(bytes);
            }
            (of, Some(value)) if of.ends_with(".settings") => {
                let bytes: Vec<u8> =
                    settings.iter().flat_map(|field| field.to_ne_bytes()).collect();
                value[..bytes.len()].copy_from_slice(&bytes);
            }
            _ => {}
        }
    }
    let mut object = open.load().map_err(|error| refused(what(), heard(error)))?;
    let map = object.maps_mut().find(|map| map.name() == "law");
    let link = map.ok_or_else(|| refused(what(), "its program has no law"))?.attach_struct_ops();
    let link = match link {
        Ok(link) => link,
        // Somebody has been faster.
        Err(_) if available()?.contains(&name) => return Err(KernelError::Taken(name)),
        Err(error) => return Err(refused(what(), heard(error))),
    };
    Ok(Loaded { name, link, object })
}

/// Loads a law that stays when this process ends, until [`uninstall`] or a reboot. Mounts
/// `/sys/fs/bpf` if nobody has.
pub fn install(asked: &KernelLaw) -> Result<String, KernelError> {
    let mut loaded = load(asked, None).map_err(|error| match error {
        KernelError::Taken(name) if entries().all(|(_, installed)| installed.name != name) => {
            KernelError::Kept(name)
        }
        other => other,
    })?;
    mount()?;
    fs::create_dir_all(OURS).map_err(|error| refused(OURS, error))?;
    let path = Path::new(OURS).join(file_name(&loaded.name, &asked.given));
    // The pin keeps it when our link is dropped.
    loaded.link.pin(&path).map_err(|error| refused(path.display().to_string(), error))?;
    Ok(loaded.name)
}

/// Takes away the law that [`install`] brought under `name`.
pub fn uninstall(name: &str) -> Result<(), KernelError> {
    for (path, installed) in entries() {
        if installed.name == name {
            fs::remove_file(&path).map_err(|error| refused(path.display().to_string(), error))?;
            // Fails while others are there.
            let _ = fs::remove_dir(OURS);
            return Ok(());
        }
    }
    Err(KernelError::Absent(name.to_owned()))
}

/// The laws that [`install`] brought.
pub fn installed() -> Vec<Installed> {
    let mut all: Vec<Installed> = entries().map(|(_, installed)| installed).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn entries() -> impl Iterator<Item = (PathBuf, Installed)> {
    let files = fs::read_dir(OURS).into_iter().flatten().flatten();
    files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let mut parts = name.split(':').map(|part| part.replace('!', "."));
        let name = parts.next().filter(|name| name.starts_with(PREFIX))?;
        Some((file.path(), Installed { name, given: parts.collect() }))
    })
}

/// A file that says what it is: `nw_etcp:p0=0!005`, as names in this file system have no point.
fn file_name(name: &str, given: &[String]) -> String {
    let parts = given.iter().map(|given| format!(":{}", given.replace('.', "!")));
    format!("{name}{}", parts.collect::<String>())
}

/// The congestion controls that the kernel has.
fn available() -> Result<Vec<String>, KernelError> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = fs::read_to_string(path).map_err(|error| refused(path, error))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Mounts the file system of pinned objects, unless it is there.
fn mount() -> Result<(), KernelError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if mounts
        .lines()
        .any(|line| line.split(' ').nth(1).map(str::as_bytes) == Some(BPFFS.to_bytes()))
    {
        return Ok(());
    }
    // As systemd mounts it: without a mode everybody may write there.
    let mode = c"mode=0700".as_ptr().cast();
    // SAFETY: the strings end with a zero.
    let answer = unsafe { libc::mount(c"bpf".as_ptr(), BPFFS.as_ptr(), c"bpf".as_ptr(), 0, mode) };
    if answer == 0 {
        return Ok(());
    }
    Err(refused("/sys/fs/bpf cannot be mounted", io::Error::last_os_error()))
}
