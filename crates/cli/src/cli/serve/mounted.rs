//! Files that are mounted by themselves.
//!
//! A container may have a single file of its host (`-v ./limits.toml:/limits.toml`). Editors and deployments put a new file
//! in the place of the old one, and the container keeps the old one: neither its name nor its content ever changes there.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Returns true if the system tells that the file is a mount of its own. It does on Linux.
pub(super) fn is_mounted_by_itself(path: &Path) -> bool {
    let (Ok(path), Ok(mounts)) = (path.canonicalize(), fs::read("/proc/self/mountinfo")) else {
        return false;
    };
    is_mount_point(&path, &mounts)
}

/// Returns true if a line of `mountinfo` has this mount point.
fn is_mount_point(path: &Path, mounts: &[u8]) -> bool {
    mounts.split(|byte| *byte == b'\n').any(|line| mount_point(line).as_deref() == Some(path))
}

/// Returns the fifth word of a line, in which spaces and such are `\040`: a backslash and three octal digits.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let mut escaped = line.split(|byte| *byte == b' ').nth(4)?;
    let mut plain = Vec::with_capacity(escaped.len());
    while let [first, rest @ ..] = escaped {
        let code = rest.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                plain.push(byte);
                escaped = &rest[3..];
            }
            _ => {
                plain.push(*first);
                escaped = rest;
            }
        }
    }
    Some(OsString::from_vec(plain).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_the_fifth_word_and_may_have_spaces() {
        let point = |line: &str| mount_point(line.as_bytes());
        let line = r"36 35 98:0 /limits.toml /etc/my\040limits.toml rw,noatime - ext3 /dev/root rw";
        assert_eq!(point(line), Some("/etc/my limits.toml".into()));
        assert_eq!(point(r"36 35 98:0 / /a\134b\04 rw"), Some(r"/a\b\04".into()));
        assert_eq!(point("36 35 98:0 /"), None);
    }

    #[test]
    fn a_file_is_mounted_by_itself_if_a_line_has_its_whole_path() {
        // As in a container that has one file of its host, and one folder.
        let mounts = br"575 466 0:49 / / rw,relatime master:181 - overlay overlay rw,lowerdir=/a:/b
580 575 254:1 /home/ada/limits.toml /limits.toml ro,relatime - ext4 /dev/vda1 rw
581 575 254:1 /home/ada/limits /etc/sluice\040gate ro,relatime - ext4 /dev/vda1 rw
";
        let is_mounted = |path: &str| is_mount_point(Path::new(path), mounts);
        assert!(is_mounted("/limits.toml") && is_mounted("/etc/sluice gate"));
        for path in ["/etc/sluice gate/limits.toml", "/home/ada/limits.toml", "/limits", ""] {
            assert!(!is_mounted(path), "{path}");
        }
    }
}
