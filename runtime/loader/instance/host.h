// SPDX-License-Identifier: Apache-2.0
// The host's side of belay_host, which an instance gets.
//
// HostServices exists once per run: the log, the clock, the run directory, and the tables of all services by name.
// "core" is built in. main adds the others; each is implemented in the folder of its subject. A service's functions
// find their object by its type:
//
//   services.add("events", &kEventsTable);          services.set_context(&event_writer);
//   std::int32_t scalar(belay_host* host, ...) { InstanceHost::from(host).services().context<EventWriter>()... }
//
// InstanceHost exists once per plugin instance and adds the instance's name. The plugin's belay_host* is no address but
// a number that is never used again. If a plugin forgot a thread, its calls have no effect and are one warning. They
// never use a dangling pointer.
//
// All services are added before the first instance is created, since a plugin asks for services then. A context may be
// replaced when no plugin runs. Any thread may call the functions of "core".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/abi.h"
#include "belay/cluster.h"
#include "belay/error.h"
#include "runtime/platform/files/watched_files.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class HostServices {
 public:
  // Borrows both. run_directory is absolute; empty: the run has none.
  HostServices(Logger& logger, Clock& clock, std::string run_directory, std::uint64_t seed);
  ~HostServices();
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // `table` has the type that abi.h states for the name. It must live as long as this object.
  void add(std::string name, const void* table);
  // Returns null if there is none.
  const void* find(std::string_view name) const noexcept;

  // Sets one object per type; null removes it.
  template <class T>
  void set_context(T* object) {
    set_context(key<T>(), object);
  }
  // FAILED_PRECONDITION: none is set, since the session of the object does not exist (yet, or any more).
  template <class T>
  T& context() const {
    for (const Context& c : contexts_)
      if (c.key == key<T>() && c.object != nullptr) return *static_cast<T*>(c.object);
    fail_no_context();
  }

  // The purpose of the instances' session: one of BELAY_MODE_..., or 0.
  void set_mode(std::int32_t mode) noexcept { mode_ = mode; }
  std::int32_t mode() const noexcept { return mode_; }
  // The place of this process among those that train together.
  void set_place(const ClusterPlace& place) noexcept { place_ = place; }
  const ClusterPlace& place() const noexcept { return place_; }
  int rank() const noexcept { return place_.rank; }
  int ranks() const noexcept { return place_.size; }
  // `stopping` returns true if the run was asked to stop. Any thread calls it. None: it never is.
  void set_stopping(std::function<bool()> stopping) { stopping_ = std::move(stopping); }
  bool stopping() const { return stopping_ && stopping_(); }
  // The number of this start of the run. It is borrowed and read when an instance asks. Without it the number is 1.
  void set_attempt(const std::int64_t* attempt) noexcept { attempt_ = attempt; }
  std::int64_t attempt() const noexcept { return attempt_ == nullptr ? 1 : *attempt_; }

  // Counts the instances' waits for a disk. It is borrowed, and any thread calls it. None: they are not needed.
  void set_disk(DiskCalls* calls) noexcept { disk_ = calls; }
  DiskCalls* disk() const noexcept { return disk_; }

  Logger& logger() const noexcept { return logger_; }
  Clock& clock() const noexcept { return clock_; }
  const std::string& run_directory() const noexcept { return run_directory_; }
  std::uint64_t seed() const noexcept { return seed_; }

 private:
  struct Context {
    const void* key;
    void* object;
  };
  template <class T>
  static const void* key() noexcept {
    static const char address = 0;
    return &address;
  }
  void set_context(const void* key, void* object);
  [[noreturn]] static void fail_no_context();

  Logger& logger_;
  Clock& clock_;
  std::string run_directory_;
  std::uint64_t seed_;
  std::int32_t mode_ = 0;
  ClusterPlace place_;
  std::function<bool()> stopping_;
  const std::int64_t* attempt_ = nullptr;
  DiskCalls* disk_ = nullptr;
  std::vector<std::pair<std::string, const void*>> tables_;
  std::vector<Context> contexts_;
};

class InstanceHost {
 public:
  // `services` must outlive it. The destructor waits for current calls of "core". RESOURCE_EXHAUSTED: 65,536 exist.
  InstanceHost(const HostServices& services, std::string instance_name);
  ~InstanceHost();
  InstanceHost(const InstanceHost&) = delete;
  InstanceHost& operator=(const InstanceHost&) = delete;

  static const belay_host_api* api() noexcept;
  belay_host* raw() const noexcept { return raw_; }
  // For a function of a service with a status. FAILED_PRECONDITION, with one warning: the instance has ended. The
  // instance must not end during the call. Threads that outlive it do not call services other than "core".
  static InstanceHost& from(belay_host* raw);

  const std::string& name() const noexcept { return name_; }
  const HostServices& services() const noexcept { return services_; }

  // true: the instance's wait is no longer needed; false: it is needed again. [any]
  void set_stopping(bool stopping) noexcept { stopping_ = stopping; }
  bool stopping() const { return stopping_ || services_.stopping(); }

  // A wait of the instance for a disk begins or ends. An end without a start is ignored. [any]
  void wait_for_disk(bool begins) noexcept;

  struct Slot;  // found by a belay_host

 private:
  const HostServices& services_;
  const std::string name_;
  Slot& slot_;
  belay_host* const raw_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> disk_waits_{0};  // under way
};

}  // namespace belay::runtime
