// SPDX-License-Identifier: Apache-2.0
// What a file is that a reader cannot use, by its first bytes: names are often wrong, and "a pickle" says more than a
// header of 2336927755350992246 bytes. For the errors of inputs, savers and init functions.
//
//   if (!begins_as_mine(bytes))
//     fail(Code::kInvalidArgument,
//          prefix + foreign_text(bytes, "IDX file", "is no IDX file: it begins with ..."));
//
//   is a page of HTML, no IDX file: a download that failed leaves one; fetch the file again
//
// Ask it only where the format's own check has failed: a few of these beginnings may begin a text, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belay {
inline namespace v0 {

struct FileKind {
  std::string_view name;  // "a pickle of Python (torch.save, joblib)"; empty: not known
  std::string_view help;  // how to get what belongs there; empty: the kind does not say
};

namespace detail {

inline constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";
inline constexpr std::string_view kFetchAgain = "a download that failed leaves one; fetch the file again";

// Behind blanks, without regard to case.
inline bool begins_as_markup(std::string_view bytes, std::string_view lower) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || bytes.size() - begin < lower.size()) return false;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const char c = bytes[begin + i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != lower[i]) return false;
  }
  return true;
}

// It begins with the length of a header of JSON.
inline bool begins_as_safetensors(std::string_view bytes) {
  constexpr std::size_t kLength = 8, kZeros = 4;  // headers have at most 100 MB
  return bytes.size() > kLength && bytes[kLength] == '{' &&
         bytes.substr(kLength - kZeros, kZeros) == std::string_view("\0\0\0\0", kZeros);
}

inline bool begins_as_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

// What stands in a git repository for a file that is kept elsewhere: the file itself was not fetched.
inline FileKind pointer_kind(std::string_view bytes) {
  if (bytes.substr(0, kLfsPointer.size()) == kLfsPointer)
    return {"a pointer of Git LFS", "git lfs pull fetches the file itself"};
  constexpr std::string_view kAnnex = "/annex/objects/";
  if (bytes.substr(0, kAnnex.size()) == kAnnex)
    return {"a pointer of git-annex", "git annex get fetches the file itself"};
  return {};
}

}  // namespace detail

// `bytes`: the file's first ones, 512 or more if it has them.
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

// "is NAME, no WANTED: HELP", with the kind's help, or else `help`. `otherwise` where the kind is not known.
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
