// SPDX-License-Identifier: Apache-2.0
#include "tests/platform/memory_disk.h"

#include <algorithm>
#include <utility>

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kRoot = 0;

[[noreturn]] void fail_disk_call(Code code, const std::string& what, const std::string& path, const char* why) {
  fail(code, "cannot " + what + " " + single_quoted(path) + ": " + why);
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (slash != at) parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

}  // namespace

MemoryDisk::Id MemoryDisk::Image::add(bool is_directory) {
  now.push_back({is_directory, {}, {}});
  return now.size() - 1;
}

void MemoryDisk::Image::make(Change change) {
  apply(now, change);
  log.push_back(std::move(change));
}

void MemoryDisk::apply(std::vector<Node>& nodes, const Change& change) {
  if (change.kind == Change::Kind::kWrite) {
    std::string& bytes = nodes[change.node].bytes;
    bytes.resize(std::max(bytes.size(), change.offset + change.bytes.size()));
    std::copy(change.bytes.begin(), change.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(change.offset));
  }
  for (const Entry& e : change.entries) {
    auto& entries = nodes[e.directory].entries;
    if (e.to) {
      entries[e.name] = *e.to;
    } else {
      entries.erase(e.name);
    }
  }
}

// A write of which the length arrived, and some of the bytes.
void MemoryDisk::apply_in_part(std::vector<Node>& nodes, Change change, std::mt19937& random) {
  if (change.kind == Change::Kind::kWrite) {
    const std::size_t size = change.bytes.size(), whole = size == 0 ? 0 : random() % size;
    change.bytes.resize(whole);
    if (random() % 2 == 0) change.bytes.resize(size);  // with zeros
  }
  apply(nodes, change);
}

class MemoryDisk::File final : public OpenFile {
 public:
  File(std::shared_ptr<Image> image, Id id, std::string path)
      : image_(std::move(image)), id_(id), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  void write(const void* data, std::size_t size) override { write_at(this->size(), data, size); }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    image_->make({Change::Kind::kWrite, id_, offset, std::string(static_cast<const char*>(data), size), {}});
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    const std::string& bytes = image_->now[id_].bytes;
    if (offset > bytes.size() || size > bytes.size() - offset)
      fail(Code::kDataLoss,
           "cannot read " + single_quoted(path_) + ": it ends at byte " + std::to_string(bytes.size()));
    std::copy_n(bytes.data() + offset, size, static_cast<char*>(data));
  }
  std::uint64_t size() const override { return image_->now[id_].bytes.size(); }
  void sync() override { image_->make({Change::Kind::kSync, id_, 0, {}, {}}); }
  void close() override {}

 private:
  const std::shared_ptr<Image> image_;
  const Id id_;
  const std::string path_;
};

class MemoryDisk::Directory final : public OpenDirectory {
 public:
  Directory(std::shared_ptr<Image> image, Id id, std::string path)
      : image_(std::move(image)), id_(id), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  std::unique_ptr<OpenFile> create(std::string_view name) override {
    return std::make_unique<File>(image_, add(name, false, "create"), inside(name));
  }
  std::unique_ptr<OpenFile> open(std::string_view name) const override {
    return std::make_unique<File>(image_, get(name, false, "open"), inside(name));
  }
  bool exists(std::string_view name) const override { return entries_here().contains(std::string(name)); }
  FileStatus status(std::string_view name) const override {
    const auto found = entries_here().find(std::string(name));
    if (found == entries_here().end())
      fail_disk_call(Code::kNotFound, "read the status of", inside(name), "No such file or directory");
    return status_of(*image_, found->second);
  }
  std::vector<std::string> entries() const override {
    std::vector<std::string> names;
    for (const auto& [name, id] : entries_here()) names.push_back(name);
    return names;
  }
  std::unique_ptr<OpenDirectory> make_directory(std::string_view name) override {
    return std::make_unique<Directory>(image_, add(name, true, "make directory"), inside(name));
  }
  std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
    return std::make_unique<Directory>(image_, get(name, true, "open directory"), inside(name));
  }
  void rename(std::string_view from, std::string_view to) override {
    const auto found = entries_here().find(std::string(from));
    if (found == entries_here().end())
      fail_disk_call(Code::kNotFound, "rename", inside(from), "No such file or directory");
    refuse_to_replace(*image_, id_, std::string(to), inside(to));
    const Id what = found->second;
    change({{id_, std::string(from), std::nullopt}, {id_, std::string(to), what}});
  }
  void remove(std::string_view name) override {
    get(name, false, "remove");
    change({{id_, std::string(name), std::nullopt}});
  }
  void remove_tree(std::string_view name) override {
    const auto tree = open_directory(name);
    for (const std::string& entry : tree->entries()) {
      if (tree->status(entry).kind == FileKind::kDirectory) {
        tree->remove_tree(entry);
      } else {
        tree->remove(entry);
      }
    }
    change({{id_, std::string(name), std::nullopt}});
  }
  void sync() override { image_->make({Change::Kind::kSync, id_, 0, {}, {}}); }
  std::unique_ptr<OpenFile> try_lock(std::string_view name) override {
    return exists(name) ? open(name) : create(name);
  }
  std::unique_ptr<PageFile> create_page(std::string_view name) override {
    fail_disk_call(Code::kUnimplemented, "create", inside(name), "a disk in memory has no pages");
  }
  bool locked(std::string_view) const override { return false; }

  static FileStatus status_of(const Image& image, Id id) {
    FileStatus status;
    status.kind = image.now[id].is_directory ? FileKind::kDirectory : FileKind::kFile;
    status.size = image.now[id].bytes.size();
    status.inode = id;
    status.mode = 0640;
    return status;
  }
  // As a rename of the system: over a file, or a directory that is empty.
  static void refuse_to_replace(const Image& image, Id directory, const std::string& name, const std::string& path) {
    const auto found = image.now[directory].entries.find(name);
    if (found != image.now[directory].entries.end() && !image.now[found->second].entries.empty())
      fail_disk_call(Code::kAlreadyExists, "rename to", path, "Directory not empty");
  }

 private:
  std::string inside(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::map<std::string, Id>& entries_here() const { return image_->now[id_].entries; }
  void change(std::vector<Entry> entries) { image_->make({Change::Kind::kNames, id_, 0, {}, std::move(entries)}); }
  Id add(std::string_view name, bool is_directory, const char* verb) {
    if (exists(name)) fail_disk_call(Code::kAlreadyExists, verb, inside(name), "File exists");
    const Id id = image_->add(is_directory);
    change({{id_, std::string(name), id}});
    return id;
  }
  Id get(std::string_view name, bool is_directory, const char* verb) const {
    const auto found = entries_here().find(std::string(name));
    if (found == entries_here().end()) fail_disk_call(Code::kNotFound, verb, inside(name), "No such file or directory");
    if (image_->now[found->second].is_directory != is_directory)
      fail_disk_call(Code::kFailedPrecondition, verb, inside(name),
                     is_directory ? "Not a directory" : "Is a directory");
    return found->second;
  }

  const std::shared_ptr<Image> image_;
  const Id id_;
  const std::string path_;
};

MemoryDisk::MemoryDisk() : image_(std::make_shared<Image>()) {
  image_->add(true);
  settle();
}
MemoryDisk::~MemoryDisk() = default;
MemoryDisk::MemoryDisk(const MemoryDisk& other) : image_(std::make_shared<Image>()) {
  image_->now = other.image_->now;
  settle();
}

std::optional<MemoryDisk::Id> MemoryDisk::find(const std::string& path) const {
  Id at = kRoot;
  for (const std::string& part : parts_of(path)) {
    const auto found = image_->now[at].entries.find(part);
    if (found == image_->now[at].entries.end()) return std::nullopt;
    at = found->second;
  }
  return at;
}

std::unique_ptr<OpenDirectory> MemoryDisk::open_directory(const std::string& path) {
  const std::optional<Id> id = find(path);
  if (!id || !image_->now[*id].is_directory)
    fail_disk_call(Code::kNotFound, "open directory", path, "No such file or directory");
  return std::make_unique<Directory>(image_, *id, path);
}

std::unique_ptr<OpenDirectory> MemoryDisk::make_directories(const std::string& path) {
  std::unique_ptr<OpenDirectory> at = std::make_unique<Directory>(image_, kRoot, "");
  for (const std::string& part : parts_of(path)) {
    const bool there = at->exists(part);
    std::unique_ptr<OpenDirectory> next = there ? at->open_directory(part) : at->make_directory(part);
    if (!there) at->sync();
    at = std::move(next);
  }
  return at;
}

bool MemoryDisk::exists(const std::string& path) const { return find(path).has_value(); }

FileStatus MemoryDisk::status(const std::string& path) const {
  const std::optional<Id> id = find(path);
  if (!id) fail_disk_call(Code::kNotFound, "read the status of", path, "No such file or directory");
  return Directory::status_of(*image_, *id);
}

void MemoryDisk::rename(const std::string& from, const std::string& to) {
  const auto parent_and_name = [&](const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return std::pair(find(path.substr(0, slash)), path.substr(slash + 1));
  };
  const auto [from_parent, from_name] = parent_and_name(from);
  const auto [to_parent, to_name] = parent_and_name(to);
  const std::optional<Id> what = find(from);
  if (!what || !to_parent) fail_disk_call(Code::kNotFound, "rename", from, "No such file or directory");
  Directory::refuse_to_replace(*image_, *to_parent, to_name, to);
  image_->make({Change::Kind::kNames,
                *to_parent,
                0,
                {},
                {{*from_parent, from_name, std::nullopt}, {*to_parent, to_name, *what}}});
}

void MemoryDisk::settle() {
  image_->settled = image_->now;
  image_->log.clear();
}

std::size_t MemoryDisk::changes() const { return image_->log.size(); }

bool MemoryDisk::is_flush(std::size_t at) const { return at != 0 && image_->log[at - 1].kind == Change::Kind::kSync; }

MemoryDisk MemoryDisk::after_power_loss(std::size_t at, Unsynced unsynced, std::mt19937& random) const {
  const std::vector<Change>& log = image_->log;
  // For each change, whether a sync of its file or directory came after it.
  std::vector<bool> durable(at, false), synced(image_->now.size(), false);
  for (std::size_t i = at; i-- > 0;) {
    durable[i] = synced[log[i].node];
    if (log[i].kind == Change::Kind::kSync) synced[log[i].node] = true;
  }
  std::size_t first_ones = static_cast<std::size_t>(std::count(durable.begin(), durable.end(), false));
  if (unsynced == Unsynced::kPrefix) first_ones = random() % (first_ones + 1);
  if (unsynced == Unsynced::kLost) first_ones = 0;
  MemoryDisk left;
  std::vector<Node>& nodes = left.image_->now;
  nodes = image_->settled;
  for (std::size_t i = nodes.size(); i < image_->now.size(); ++i)
    nodes.push_back({image_->now[i].is_directory, {}, {}});
  for (std::size_t i = 0; i < at; ++i) {
    if (durable[i]) {
      apply(nodes, log[i]);
    } else if (unsynced == Unsynced::kSubset) {
      if (const auto fate = random() % 4; fate < 2)
        apply(nodes, log[i]);
      else if (fate == 2 && log[i].kind == Change::Kind::kWrite)
        apply_in_part(nodes, log[i], random);
    } else if (first_ones != 0) {
      --first_ones;
      apply(nodes, log[i]);
    }
  }
  left.settle();
  return left;
}

}  // namespace belay::runtime
