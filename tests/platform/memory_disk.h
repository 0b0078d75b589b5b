// SPDX-License-Identifier: Apache-2.0
// A disk in memory that remembers every change since it was last settled, so that a test gets it as a loss of power at
// any moment may leave it. [one thread]
//
//   MemoryDisk disk;
//   auto run = disk.make_directories("/run");
//   ...
//   disk.settle();                          // all of that is durable
//   series.save(content, saver);
//   for (std::size_t at = 0; at <= disk.changes(); ++at)
//     for (...) restore_from(disk.after_power_loss(at, Unsynced::kSubset, random));
//
// Exactly those bytes and names survive that POSIX promises: the bytes of a file that was synced after its writes, and
// the names of a directory that was synced after their changes. All else is lost, or comes in any order: a file may
// have its name and none of its bytes, its length and zeros in place of them, or a part of a write. A rename is one
// change. A sync of the directory that gets the name makes it durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// The fate of changes that were not synced.
enum class Unsynced {
  kLost,    // none arrived
  kKept,    // all did: the process was killed, the system was not
  kPrefix,  // the first ones did, so many by chance
  kSubset,  // each by chance, writes also in part or as zeros
};

class MemoryDisk final : public FileSystem {
 public:
  MemoryDisk();
  ~MemoryDisk() override;
  MemoryDisk(const MemoryDisk& other);  // what is there now, settled; open files stay the other's
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  std::unique_ptr<OpenDirectory> open_directory(const std::string& path) override;
  std::unique_ptr<OpenDirectory> make_directories(const std::string& path) override;
  bool exists(const std::string& path) const override;
  FileStatus status(const std::string& path) const override;
  void rename(const std::string& from, const std::string& to) override;
  std::uint64_t free_bytes(const std::string&) const override { return std::uint64_t{1} << 40; }

  // From here on everything is durable and the changes are counted anew.
  void settle();
  // Writes, changes of names, and syncs, in their order.
  std::size_t changes() const;
  // Whether the last of so many changes is a sync.
  bool is_flush(std::size_t at) const;
  // The disk where power was lost when so many changes had been made.
  MemoryDisk after_power_loss(std::size_t at, Unsynced unsynced, std::mt19937& random) const;

 private:
  using Id = std::size_t;  // of a file or directory, for ever
  struct Node {
    bool is_directory = false;
    std::string bytes;
    std::map<std::string, Id> entries;
  };
  struct Entry {
    Id directory;
    std::string name;
    std::optional<Id> to;  // none: the name goes
  };
  struct Change {
    enum class Kind { kWrite, kNames, kSync } kind;
    Id node;  // what is written to or synced; of names, the directory whose sync makes them durable
    std::uint64_t offset = 0;
    std::string bytes = {};
    std::vector<Entry> entries = {};
  };
  struct Image {  // shared with open files, which may outlive the disk
    std::vector<Node> settled, now;
    std::vector<Change> log;

    void make(Change change);
    Id add(bool is_directory);
  };
  class File;
  class Directory;

  static void apply(std::vector<Node>& nodes, const Change& change);
  static void apply_in_part(std::vector<Node>& nodes, Change change, std::mt19937& random);
  // None where a part of the path is missing.
  std::optional<Id> find(const std::string& path) const;

  std::shared_ptr<Image> image_;
};

}  // namespace belay::runtime
