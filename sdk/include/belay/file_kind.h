// SPDX-License-Identifier: Apache-2.0
// Recognizes a file that a reader cannot use, by its first bytes. Names are often wrong, and "a pickle" helps more than
// a header of 2336927755350992246 bytes. It is for the errors of inputs, savers and init functions.
//
//   if (!begins_as_mine(bytes))
//     fail(Code::kInvalidArgument,
//          prefix + foreign_text(bytes, "IDX file", "is no IDX file: it begins with ..."));
//
//   is a page of HTML, no IDX file: a download that failed leaves one; fetch the file again
//
// Call it only after the format's own check has failed: some of these beginnings may also begin a text. All functions
// work on any thread and keep no state; the strings are literals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belay {
inline namespace v0 {

// The name of a kind of file, for messages.
struct FileKind {
  std::string_view name;  // "a pickle of Python (torch.save, joblib)"; empty: not known
  std::string_view help;  // how to get the right file; empty: the kind has no advice
};

namespace detail {

inline constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";
inline constexpr std::string_view kFetchAgain = "a download that failed leaves one; fetch the file again";

// True if the bytes begin with `lower` after blanks, in any case.
inline bool begins_as_markup(std::string_view bytes, std::string_view lower) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || bytes.size() - begin < lower.size()) return false;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const char c = bytes[begin + i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != lower[i]) return false;
  }
  return true;
}

// True if the bytes begin with the length of a JSON header.
inline bool begins_as_safetensors(std::string_view bytes) {
  constexpr std::size_t kLength = 8, kZeros = 4;  // headers have at most 100 MB
  return bytes.size() > kLength && bytes[kLength] == '{' &&
         bytes.substr(kLength - kZeros, kZeros) == std::string_view("\0\0\0\0", kZeros);
}

// True if the bytes begin with the opcode of protocol 2 to 5.
inline bool begins_as_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

// Recognizes the pointer of a git repository, which replaces a file that was not fetched.
inline FileKind pointer_kind(std::string_view bytes) {
  if (bytes.substr(0, kLfsPointer.size()) == kLfsPointer)
    return {"a pointer of Git LFS", "git lfs pull fetches the file itself"};
  constexpr std::string_view kAnnex = "/annex/objects/";
  if (bytes.substr(0, kAnnex.size()) == kAnnex)
    return {"a pointer of git-annex", "git annex get fetches the file itself"};
  return {};
}

}  // namespace detail

// Returns the kind of a file. `bytes`: the file's first bytes, 512 or more if it has them.
inline FileKind file_kind(std::string_view bytes) {
  if (const FileKind pointer = detail::pointer_kind(bytes); !pointer.name.empty()) return pointer;
  for (const char* page : {"<!doctype html", "<html"})
    if (detail::begins_as_markup(bytes, page)) return {"a page of HTML", detail::kFetchAgain};
  if (detail::begins_as_markup(bytes, "<?xml")) return {"a page of XML", detail::kFetchAgain};
  if (detail::begins_as_pickle(bytes)) return {"a pickle of Python (torch.save, joblib)", ""};
  struct Magic {
    std::size_t at;
    std::string_view bytes, name;
  };
  static constexpr Magic kMagics[] = {
      {0, "PK\3\4", "a zip archive (torch.save, Keras and numpy.savez write such)"},
      {0, "\x89HDF\r\n\x1a\n", "an HDF5 file (Keras writes such)"},
      {0, "GGUF", "a GGUF file (llama.cpp)"},
      {4, "TFL3", "a TensorFlow Lite model"},
      {0, "\x93NUMPY", "an .npy file"},
      {0, "PAR1", "a Parquet file"},
      {0, "ARROW1", "an Arrow file"},
      {0, "SQLite format 3", "a SQLite database"},
      {0, "\x1f\x8b", "compressed by gzip"},
      {0,
       "\xfd"
       "7zXZ",
       "compressed by xz"},
      {0, "\x28\xb5\x2f\xfd", "compressed by zstd"},
      {0, "BZh", "compressed by bzip2"},
      {0, "7z\xbc\xaf", "a 7z archive"},
      {257, "ustar", "a tar archive"},
      {0, "\x89PNG", "a PNG picture"},
      {0, "\xff\xd8\xff", "a JPEG picture"},
      {0, "%PDF-", "a PDF document"},
      {0, "\xd0\xcf\x11\xe0", "a document of an old Microsoft Office"},
      {0,
       "\x7f"
       "ELF",
       "a program or library (ELF)"},
  };
  for (const Magic& magic : kMagics)
    if (bytes.size() > magic.at && bytes.substr(magic.at, magic.bytes.size()) == magic.bytes) return {magic.name, ""};
  if (detail::begins_as_safetensors(bytes)) return {"a safetensors file", ""};
  return {};
}

// Returns "is NAME, no WANTED: HELP", with the kind's help, or else `help`. It returns `otherwise` if the kind is not
// known.
inline std::string foreign_text(std::string_view bytes, std::string_view wanted, std::string_view help,
                                const std::string& otherwise) {
  const FileKind kind = file_kind(bytes);
  if (kind.name.empty()) return otherwise;
  std::string text = "is ";
  text.append(kind.name).append(", no ").append(wanted);
  const std::string_view way = kind.help.empty() ? help : kind.help;
  return way.empty() ? text : text.append(": ").append(way);
}

}  // namespace v0
}  // namespace belay
