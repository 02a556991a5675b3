"""What the operating system refused, as a sentence: what is wrong, and what helps."""

import errno

_SAYS = {
    errno.ENOENT: "there is no such file or directory",
    errno.ENOTDIR: "a part of this path is a file, expected a directory",
    errno.EISDIR: "is a directory, expected a file",
    errno.EEXIST: "exists already",
    errno.ENOTEMPTY: "is a directory that is not empty",
    errno.EACCES: "permission is missing: its owner or mode keeps this user out",
    errno.EPERM: "this user is not permitted to do that",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "no space is left on the device; free some, then try again",
    errno.EDQUOT: "the disk quota of this user is used up; free some, then try again",
    errno.EFBIG: "the file would be larger than the limit allows (ulimit -f)",
    errno.EIO: "the device failed; the kernel's log says more (dmesg)",
    errno.EBUSY: "is in use",
    errno.EXDEV: "lies on another file system",
    errno.ELOOP: "links lead in a circle there, or a link is not followed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EINVAL: "the system does not take this value",
    errno.ENOMEM: "no memory is left",
    errno.EMFILE: "this process has too many open files (ulimit -n)",
    errno.ENFILE: "this computer has too many open files",
    errno.EAGAIN: "it is busy; try again",
    errno.ETIMEDOUT: "no answer in time",
    errno.ECONNREFUSED: "nobody listens there",
    errno.ECONNRESET: "the other side ended the connection",
    errno.EPIPE: "the other side reads no more",
    errno.EADDRINUSE: "another process has this address",
    errno.ENXIO: "there is no such device, or nobody reads there",
    errno.ENODEV: "there is no such device",
    errno.ENOTTY: "is no terminal",
    errno.EBADF: "is closed",
}


def os_problem(error: OSError) -> str:
    """Return what went wrong, with the path if it is known; never a bare number."""
    where = "".join(f"{name}: " for name in (error.filename,) if name)
    return f"{where}{_said(error)}"


def problem_text(error: Exception) -> str:
    """Return what went wrong, be it the system's word or ours."""
    told = os_problem(error) if isinstance(error, OSError) else str(error)
    return told or type(error).__name__


def _said(error: OSError) -> str:
    # The numbers of TLS are its own.
    if type(error).__module__ == "ssl":
        return str(error.strerror or error)
    if error.errno in _SAYS:
        return _SAYS[error.errno]
    if isinstance(error, TimeoutError):
        return "timed out"
    told = str(error.strerror or error) or type(error).__name__
    name = errno.errorcode.get(error.errno or 0, "")
    return f"the system refused it: {told}" + (f" ({name})" if name else "")
