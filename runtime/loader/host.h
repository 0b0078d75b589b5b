// SPDX-License-Identifier: Apache-2.0
// The host's side of belay_host: what an instance gets from its host.
//
// HostServices is one per run: the log, the clock, the run directory, and the tables of all services by name. "core" is
// built in; main adds the others, each implemented in the folder of its subject. A service's functions find the object
// behind them by its type:
//
//   services.add("events", &kEventsTable);          services.set_context(&event_writer);
//   std::int32_t scalar(belay_host* host, ...) { InstanceHost::from(host).services().context<EventWriter>()... }
//
// InstanceHost is one per plugin instance: it adds the instance's name.
//
// Everything is added before the first instance is created (a plugin asks for services then); a context may be replaced
// when no plugin runs. The functions of "core" are for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/abi.h"
#include "belay/error.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class HostServices {
 public:
  // Both are borrowed. run_directory: absolute, or empty where the run has none.
  HostServices(Logger& logger, Clock& clock, std::string run_directory, std::uint64_t seed);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // `table` is of the type that abi.h states for the name, and lives as long as this.
  void add(std::string name, const void* table);
  // Null where there is none.
  const void* find(std::string_view name) const noexcept;

  // One object per type; null takes it away.
  template <class T>
  void set_context(T* object) {
    set_context(key<T>(), object);
  }
  // Throws FAILED_PRECONDITION where none is set: the session that the object belongs to does not exist (yet, or any
  // more).
  template <class T>
  T& context() const {
    for (const Context& c : contexts_)
      if (c.key == key<T>() && c.object != nullptr) return *static_cast<T*>(c.object);
    fail_no_context();
  }

  // What the instances' session is for: one of BELAY_MODE_..., or 0.
  void set_mode(std::int32_t mode) noexcept { mode_ = mode; }
  std::int32_t mode() const noexcept { return mode_; }

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
  std::vector<std::pair<std::string, const void*>> tables_;
  std::vector<Context> contexts_;
};

class InstanceHost {
 public:
  InstanceHost(const HostServices& services, std::string instance_name)
      : services_(services), name_(std::move(instance_name)) {}
  InstanceHost(const InstanceHost&) = delete;
  InstanceHost& operator=(const InstanceHost&) = delete;

  static const belay_host_api* api() noexcept;
  belay_host* raw() noexcept { return reinterpret_cast<belay_host*>(this); }
  static InstanceHost& from(belay_host* raw) noexcept { return *reinterpret_cast<InstanceHost*>(raw); }

  const std::string& name() const noexcept { return name_; }
  const HostServices& services() const noexcept { return services_; }

 private:
  const HostServices& services_;
  std::string name_;
};

}  // namespace belay::runtime
