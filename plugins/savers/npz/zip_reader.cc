// SPDX-License-Identifier: Apache-2.0
#include "zip_reader.h"

#include <belay/error.h>
#include <belay/file_kind.h>
#include <zip.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "npz_format.h"

namespace npz_saver {
namespace {

using belay::Code;
using belay::fail;

constexpr zip_uint64_t kMaxDeflateRatio = 1032;  // limit of the content's bytes for each byte of a deflated entry

std::string error_text(int code) {
  zip_error_t details;
  zip_error_init_with_code(&details, code);
  std::string text = zip_error_strerror(&details);
  zip_error_fini(&details);
  return text;
}

}  // namespace

// The host's file for libzip. No exception may pass through libzip, so it is kept and thrown afterwards.
struct ZipReader::Source {
  explicit Source(const belay::File& f) : file(f), size(f.size()) { zip_error_init(&error); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() { zip_error_fini(&error); }

  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) noexcept {
    auto& s = *static_cast<Source*>(self);
    try {
      return s.answer(data, length, command);
    } catch (...) {
      s.thrown = std::current_exception();
      zip_error_set(&s.error, ZIP_ER_READ, 0);
      return -1;
    }
  }

  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              ZIP_SOURCE_SUPPORTS, -1);
      case ZIP_SOURCE_OPEN: at = 0; return 0;
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE: return 0;
      case ZIP_SOURCE_TELL: return static_cast<zip_int64_t>(at);
      case ZIP_SOURCE_ERROR: return zip_error_to_data(&error, data, length);
      case ZIP_SOURCE_STAT: {
        auto* stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->size = size;
        stat->valid |= ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
      }
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t to = zip_source_seek_compute_offset(at, size, data, length, &error);
        if (to < 0) return -1;
        at = static_cast<std::uint64_t>(to);
        return 0;
      }
      case ZIP_SOURCE_READ: {
        const std::uint64_t n = std::min<std::uint64_t>(length, size - std::min(at, size));
        if (n != 0) file.read_at(at, data, n);
        at += n;
        return static_cast<zip_int64_t>(n);
      }
      default: zip_error_set(&error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
  }

  // Call it after an error of libzip. It throws the host's exception if that was the cause.
  void rethrow() {
    if (thrown != nullptr) std::rethrow_exception(std::exchange(thrown, nullptr));
  }

  const belay::File& file;
  const std::uint64_t size;
  std::uint64_t at = 0;
  zip_error_t error;
  std::exception_ptr thrown;
};

void ZipReader::Discard::operator()(zip* archive) const { zip_discard(archive); }
void ZipReader::Entry::Close::operator()(zip_file* file) const { zip_fclose(file); }

ZipReader::ZipReader(const belay::File& file) : source_(std::make_unique<Source>(file)) {
  constexpr std::uint64_t kLeast = 22;  // below it libzip takes an empty file for an archive without entries
  if (file.size() < kLeast)
    fail(Code::kDataLoss, "[B4040] the .npz file has " + std::to_string(file.size()) +
                              " bytes; a zip archive has at least " + std::to_string(kLeast));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(&Source::call, source_.get(), &error);
  // ZIP_CHECKCONS: the directory must agree with the header before each entry.
  if (source != nullptr) archive_.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (archive_ != nullptr) return;
  if (source != nullptr) zip_source_free(source);
  source_->rethrow();
  char begin[512];
  const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), sizeof(begin)));
  file.read_at(0, begin, head);
  const bool is_zip = std::string_view(begin, 4) == "PK\3\4";
  fail(Code::kDataLoss,
       "[B4041] the .npz file " + belay::foreign_text({begin, is_zip ? 0 : head}, ".npz file",
                                                      "write its arrays with numpy.savez",
                                                      "is no zip archive, or damaged: " + error_text(code)));
}
ZipReader::~ZipReader() = default;

std::uint64_t ZipReader::count() const { return static_cast<std::uint64_t>(zip_get_num_entries(archive_.get(), 0)); }

std::string ZipReader::name(std::uint64_t i) const {
  const char* raw = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
  if (raw != nullptr && is_ascii(raw)) return raw;  // libzip takes control characters for a sign of an old code page
  const char* name = zip_get_name(archive_.get(), i, 0);
  return name == nullptr ? "" : name;
}

ZipReader::Entry::Entry(ZipReader& reader, std::uint64_t i) : reader_(reader), name_(reader.name(i)) {
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(reader.archive_.get(), i, 0, &status) != 0) damaged(zip_strerror(reader.archive_.get()));
  if (status.size / kMaxDeflateRatio > status.comp_size) damaged("it claims to have more bytes than it can");
  size_ = status.size;
  file_.reset(zip_fopen_index(reader.archive_.get(), i, 0));
  if (file_ == nullptr) damaged(zip_strerror(reader.archive_.get()));
}

void ZipReader::Entry::damaged(const std::string& why) {
  reader_.source_->rethrow();
  fail(Code::kDataLoss, "[B4040] the .npz file: the entry \"" + name_ + "\" cannot be read: " + why);
}

void ZipReader::Entry::read(void* to, std::uint64_t size) {
  for (char* at = static_cast<char*>(to); size > 0;) {
    const zip_int64_t got = zip_fread(file_.get(), at, size);
    if (got < 0) damaged(zip_file_strerror(file_.get()));
    if (got == 0) damaged("it ends before it should");
    at += got;
    size -= static_cast<std::uint64_t>(got);
  }
}

void ZipReader::Entry::check_end() {
  char extra = 0;
  const zip_int64_t more = zip_fread(file_.get(), &extra, 1);
  if (more < 0) damaged(zip_file_strerror(file_.get()));
  if (more > 0) damaged("it has data after its end");
}

}  // namespace npz_saver
