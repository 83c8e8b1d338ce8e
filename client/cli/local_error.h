#pragma once

namespace scanline::cli {

// Reasons of inputs that never reached the server. They stand where a server's reason would.
inline constexpr char kFileNotFound[] = "FILE_NOT_FOUND";     // NOT_FOUND
inline constexpr char kFileEmpty[] = "FILE_EMPTY";            // FAILED_PRECONDITION
inline constexpr char kFileUnreadable[] = "FILE_UNREADABLE";  // PERMISSION_DENIED, or as errno says
inline constexpr char kFileChanged[] = "FILE_CHANGED";        // ABORTED

}  // namespace scanline::cli
