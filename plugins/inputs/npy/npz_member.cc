// SPDX-License-Identifier: Apache-2.0
#include "npz_member.h"

#include <belay/data_file.h>
#include <belay/error.h>
#include <belay/file_kind.h>
#include <belay/nearest.h>
#include <zip.h>

#include <fstream>
#include <memory>
#include <string_view>

namespace npy_input {
namespace {

using belay::Code;
using belay::fail;

constexpr zip_uint64_t kMaxDeflateRatio = 1032;  // limit of the content's bytes for each byte of a deflated file
constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::vector<std::string> arrays_of(zip_t* archive) {
  std::vector<std::string> names;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    std::string text = name == nullptr ? "" : name;
    if (text.size() > kSuffix.size() && text.compare(text.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0)
      names.push_back(text.substr(0, text.size() - kSuffix.size()));
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

std::unique_ptr<zip_t, CloseArchive> open_archive(const std::string& path, const std::string& prefix) {
  int error = 0;
  std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_RDONLY, &error));
  if (archive != nullptr) return archive;
  zip_error_t details;
  zip_error_init_with_code(&details, error);
  const std::string text = zip_error_strerror(&details);
  zip_error_fini(&details);
  char begin[512] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  const bool is_zip = std::string_view(begin, 4) == "PK\3\4";
  fail(Code::kDataLoss,
       "[B3022] " + prefix +
           belay::foreign_text(is_zip ? "" : std::string_view(begin, sizeof(begin)), ".npz file",
                               "write its arrays with numpy.savez",
                               "is no .npz file, or damaged: " + text + "; write it with numpy.savez"));
}

}  // namespace

std::vector<char> read_npz_member(std::string_view option, const std::string& path, const std::string& array) {
  const std::string prefix = std::string(option) + ": '" + path + "' ";
  const std::uint64_t file_bytes = belay::data_file_size(option, path);
  const auto archive = open_archive(path, prefix);
  const std::vector<std::string> arrays = arrays_of(archive.get());
  if (array.empty())
    fail(Code::kInvalidArgument, "[B3030] " + prefix + "has several arrays; name one, such as \"" +
                                     path.substr(path.rfind('/') + 1) + ":" + (arrays.empty() ? "x" : arrays[0]) +
                                     "\"; it has " + joined(arrays));
  const zip_int64_t index = zip_name_locate(archive.get(), (array + std::string(kSuffix)).c_str(), 0);
  if (index < 0)
    fail(Code::kNotFound, "[B3030] " + prefix + "has no array \"" + array + "\"" + belay::did_you_mean(array, arrays) +
                              "; it has " + joined(arrays));
  const auto number = static_cast<zip_uint64_t>(index);
  const auto damaged = [&](const std::string& why) {
    fail(Code::kDataLoss,
         "[B3023] " + prefix + "array \"" + array + "\" cannot be read: " + why + "; write the file again");
  };
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive.get(), number, 0, &status) != 0) damaged(zip_strerror(archive.get()));
  if (status.comp_size > file_bytes || status.size / kMaxDeflateRatio > status.comp_size)
    damaged("it claims to have more bytes than it can");
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive.get(), number, 0));
  if (file == nullptr) damaged(zip_strerror(archive.get()));
  std::vector<char> bytes = belay::in_memory(option, path, status.size, [&] { return std::vector<char>(status.size); });
  std::size_t done = 0;
  for (zip_int64_t got = 1; got > 0 && done < bytes.size(); done += static_cast<std::size_t>(got < 0 ? 0 : got)) {
    got = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) damaged(zip_file_strerror(file.get()));
  }
  char extra = 0;  // reading past the end checks the checksum
  const zip_int64_t more = zip_fread(file.get(), &extra, 1);
  if (more < 0) damaged(zip_file_strerror(file.get()));
  if (more > 0 || done != bytes.size()) damaged("its length is wrong");
  return bytes;
}

}  // namespace npy_input
