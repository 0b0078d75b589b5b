// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run/attempt_mark.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <sstream>

#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/process/last_word.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

struct AttemptMark::Page {
  static constexpr char kHead[32] = "belay attempt 1\n";
  char head[32] = {};                  // for a reader of the file
  std::atomic<std::uint64_t> said{0};  // 1: the reason for the end is on its stderr; kUnheard
  CallPlace places[kPlaces];
  static constexpr std::uint64_t kUnheard = 2;  // it ended by itself, and its stderr was closed
};

namespace {

std::atomic<AttemptMark*> current_mark{nullptr};
std::atomic<void*> current_page{nullptr};

constexpr std::uint64_t kMostBytes = 1 << 20;  // of another process's file

// The lines after the page: who ran, the callbacks' names, then name 1, 2, ...
struct AttemptLines {
  std::string who;
  std::vector<std::string> callbacks, names;
};

std::optional<AttemptLines> read_lines(const std::string& text) {
  AttemptLines lines;
  std::istringstream in(text);
  std::string callbacks;
  if (!std::getline(in, lines.who) || !std::getline(in, callbacks)) return std::nullopt;
  std::istringstream words(callbacks);
  for (std::string word; words >> word;) lines.callbacks.push_back(word);
  for (std::string name; std::getline(in, name);) lines.names.push_back(name);
  return lines;
}

// Returns "hook "x" (x.so 1.2, train.toml:14) in after_run at step 17". It is empty if no plugin was being called.
std::string call_text(const CallPlace& place, const AttemptLines& lines) {
  const std::uint64_t call = place.call.load(), name = call / 256, callback = call % 256;
  if (call == 0) return "";
  std::string text = name >= 1 && name <= lines.names.size() ? escaped(lines.names[name - 1]) : "a plugin";
  if (callback >= 1 && callback <= lines.callbacks.size()) text += " in " + escaped(lines.callbacks[callback - 1]);
  if (const std::int64_t step = place.step.load(); step >= 0) text += fmt::format(" at step {}", step);
  return text;
}

}  // namespace

std::string AttemptMark::last_attempt(const OpenDirectory& run) {
  if (!run.exists(kAttemptName) || run.locked(kAttemptName)) return "";
  const std::string text = run.read(kAttemptName, kMostBytes);
  if (text.size() < PageFile::kPageBytes || std::memcmp(text.data(), Page::kHead, sizeof(Page::kHead)) != 0) return "";
  alignas(Page) unsigned char bytes[sizeof(Page)];
  std::memcpy(bytes, text.data(), sizeof(Page));
  const Page& page = *std::launder(reinterpret_cast<const Page*>(bytes));
  const std::optional<AttemptLines> lines = read_lines(text.substr(PageFile::kPageBytes));
  const std::uint64_t said = page.said.load();
  if (said == 1 || !lines) return "";
  std::string calls, beside;  // all of them; those of other threads than the session's
  for (const CallPlace& place : page.places) {
    const std::string call = call_text(place, *lines);
    if (call.empty()) continue;
    calls += (calls.empty() ? "" : "; ") + call;
    if (&place != &page.places[0]) beside += (beside.empty() ? "" : "; ") + call;
  }
  const std::int64_t step = page.places[0].step.load();
  const std::string between = step < 0 ? "before the first step" : fmt::format("at step {}", step);
  const std::string ended = "the attempt before (" + escaped(lines->who) + ") ended without a word, ";
  if (said == Page::kUnheard)
    return ended + between +
           ": its error output was closed, so by a plugin; those that it had: " + escaped(joined(lines->names));
  // An input reads ahead most of the time, so its call alone proves little.
  if (calls == beside && !calls.empty())
    return ended + between + ": it was killed, most likely; what ran beside the steps, " + beside +
           ", ended the process only if that plugin calls _exit or exec";
  return ended + (calls.empty()
                      ? between +
                            ", when no plugin was being called: it was killed, or a thread of a plugin ended the "
                            "process (_exit, exec)"
                      : "in " + calls + ": it was killed, or the plugin ended the process (_exit, exec)");
}

namespace {

std::unique_ptr<PageFile> new_file(OpenDirectory& run) {
  if (run.exists(kAttemptName)) run.remove(kAttemptName);
  return run.create_page(kAttemptName);
}

std::string all_callbacks() {
  std::string line;
  for (std::size_t i = 1; i < std::size(kCallbackNames); ++i) line += std::string(kCallbackNames[i]) + " ";
  return line;
}

}  // namespace

AttemptMark::AttemptMark(OpenDirectory& run, const std::string& who)
    : file_(new_file(run)),
      own_{file_->path(), file_->status().device, file_->status().inode},
      page_(new (file_->page()) Page) {
  static_assert(sizeof(Page) <= PageFile::kPageBytes);
  const std::string lines = escaped(who) + "\n" + all_callbacks() + "\n";
  file_->write(lines.data(), lines.size());
  // Comes last: a file without its head is no mark.
  std::memcpy(page_->head, Page::kHead, sizeof(Page::kHead));
  current_page = page_;
  current_mark = this;
  last_word = &AttemptMark::say_last_word_of_current;
}

AttemptMark::~AttemptMark() {
  if (current_mark.exchange(nullptr) == nullptr) return;  // another thread ends the process
  last_word = nullptr;
  current_page = nullptr;
  end();
}

void AttemptMark::say_last_word_of_current() noexcept {
  if (AttemptMark* mark = current_mark.exchange(nullptr)) mark->end();
}

void AttemptMark::OwnFile::remove() const noexcept {
  struct stat now;
  if (::lstat(path.c_str(), &now) == 0 && now.st_dev == device && now.st_ino == inode) ::unlink(path.c_str());
}

void AttemptMark::end() noexcept {
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) {
    page_->said = Page::kUnheard;
    return;
  }
  page_->said = 1;
  own_.remove();
  if (!remove_made_) return;
  lock_.remove();
  for (const std::string& directory : made_) ::rmdir(directory.c_str());
}

void AttemptMark::remove_at_end(const OpenDirectory& run, std::vector<std::string> directories) {
  if (directories.empty()) return;
  const FileStatus lock = run.status(kLockName);
  lock_ = {directories.front() + "/" + std::string(kLockName), lock.device, lock.inode};
  made_ = std::move(directories);
  remove_made_ = true;
}

CallPlace* AttemptMark::place(std::size_t i) noexcept { return &page_->places[i]; }

std::uint32_t AttemptMark::name(const std::string& text) {
  if (names_ == kNoMoreNames) return 0;
  const std::string line = escaped(text) + "\n";
  try {
    file_->write(line.data(), line.size());
  } catch (const Error&) {
    names_ = kNoMoreNames;  // half a line may be there
    return 0;
  }
  return ++names_;
}

bool replace_lost_page(const void* address) noexcept {
  char* page = static_cast<char*>(current_page.load());
  const char* at = static_cast<const char*>(address);
  if (page == nullptr || at < page || at >= page + PageFile::kPageBytes) return false;
  void* memory =
      ::mmap(page, PageFile::kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return memory != MAP_FAILED;
}

}  // namespace belay::runtime
