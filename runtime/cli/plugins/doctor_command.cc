// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/doctor_command.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "belay/tensor_text.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The findings, with the odd ones repeated at the end.
struct Findings {
  TextTable table;
  std::vector<std::string> odd;
  void add(const std::string& name, const std::string& text) { table.add({name, text}); }
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of the first line "KEY   : value".
std::string value_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

void look_at_processor(Findings& found) {
  const std::string model = value_in("/proc/cpuinfo", "model name");
  const int threads = available_threads();
  found.add("processor", (model.empty() ? "not known" : model) + ", own loops " + isa_text());
  found.add("threads", fmt::format("{} for this process", threads));
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return;
  found.add("load", rounded_text(load, 3) + " in the last minute");
  if (load > threads)
    found.odd.push_back(
        fmt::format("the machine is busy: {} threads want to run, and it has {}; a training is slower by as much",
                    rounded_text(load, 3), threads));
}

void look_at_memory(Findings& found) {
  const std::string total = value_in("/proc/meminfo", "MemTotal"),
                    available = value_in("/proc/meminfo", "MemAvailable");
  constexpr std::uint64_t kKiB = 1024;
  const auto bytes = [](const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10) * kKiB; };
  found.add("memory", bytes_text(bytes(total)) + ", " + bytes_text(bytes(available)) + " available");
}

std::string limit_text(int resource, bool bytes) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return "not known";
  if (limit.rlim_cur == RLIM_INFINITY) return "none";
  return bytes ? bytes_text(limit.rlim_cur) : std::to_string(limit.rlim_cur);
}

void look_at_limits(Findings& found) {
  const std::string size = limit_text(RLIMIT_FSIZE, true), memory = limit_text(RLIMIT_AS, true);
  found.add("limits", "open files " + limit_text(RLIMIT_NOFILE, false) + ", threads " +
                          limit_text(RLIMIT_NPROC, false) + ", memory " + memory + ", size of a file " + size);
  if (size != "none")
    found.odd.push_back("a file may have at most " + size + " (ulimit -f): a larger checkpoint fails");
}

void look_at_clock(Findings& found) {
  const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  found.add("clock", source.empty() ? "not known" : source);
  if (source == "hpet" || source == "acpi_pm")
    found.odd.push_back("the clock is \"" + source +
                        "\", which takes a microsecond to read; boot with clocksource=tsc");
}

std::string file_system_name(long type) {
  switch (type) {
    case EXT4_SUPER_MAGIC: return "ext2/3/4";
    case XFS_SUPER_MAGIC: return "xfs";
    case BTRFS_SUPER_MAGIC: return "btrfs";
    case TMPFS_MAGIC: return "tmpfs";
    case NFS_SUPER_MAGIC: return "nfs";
    case OVERLAYFS_SUPER_MAGIC: return "overlay";
    case FUSE_SUPER_MAGIC: return "fuse";
    default: return fmt::format("of type {}", type);
  }
}

// Returns the milliseconds to write and sync 4 KiB: the median of several times. Negative: it failed, and errno has the
// reason.
double sync_milliseconds(const std::string& directory) {
  using SteadyClock = std::chrono::steady_clock;
  std::string path = directory + "/.belay-doctor-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) return -1;
  const std::string block(4096, 'x');
  std::array<double, 9> times{};
  bool written = true;
  for (double& t : times) {
    const auto begin = SteadyClock::now();
    written = written && ::pwrite(file, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size()) &&
              ::fdatasync(file) == 0;
    t = std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
  }
  const int error = errno;
  ::close(file);
  ::unlink(path.c_str());
  errno = error;
  std::sort(times.begin(), times.end());
  return written ? times[times.size() / 2] : -1;
}

bool look_at_disk(const std::string& directory, Findings& found) {
  constexpr double kSlowMs = 50;
  struct statfs disk {};
  const double sync = ::statfs(directory.c_str(), &disk) == 0 ? sync_milliseconds(directory) : -1;
  if (sync < 0) {
    found.odd.push_back("'" + escaped(directory) + "' cannot be written: " + std::strerror(errno));
    return false;
  }
  const std::uint64_t room = static_cast<std::uint64_t>(disk.f_bavail) * static_cast<std::uint64_t>(disk.f_bsize);
  const std::string name = file_system_name(disk.f_type);
  found.add("disk", escaped(directory) + ": " + name + ", " + bytes_text(room) + " free, a sync takes " +
                        rounded_text(sync, 3) + " ms");
  if (sync > kSlowMs)
    found.odd.push_back("the disk takes " + rounded_text(sync, 3) +
                        " ms to sync 4 KiB: save seldom, or set run.dir to a faster one");
  if (name == "tmpfs") found.odd.push_back("'" + escaped(directory) + "' is memory: a restart of the machine loses it");
  return true;
}

void look_at_plugins(const PluginSearch& search, Findings& found) {
  for (std::size_t i = 0; i < search.directories().size(); ++i) {
    const SearchDirectory& d = search.directories()[i];
    const auto n = std::count_if(search.plugins().begin(), search.plugins().end(),
                                 [&](const FoundPlugin& p) { return p.directory == i; });
    found.add("plugins", fmt::format("{} ({}): {}", d.path, d.source, n));
  }
  if (search.plugins().empty())
    found.odd.push_back("there are no plugins in " + search.searched() + ": set BELAY_PLUGIN_PATH");
  for (const RejectedFile& r : search.rejected()) found.odd.push_back(r.error.headline());
  for (const std::string& warning : search.warnings()) found.odd.push_back(escaped(warning));
}

// Returns the first program of that name in PATH; empty: there is none.
std::string program_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (std::string program = directory + "/" + name; ::access(program.c_str(), X_OK) == 0) return program;
  return "";
}

void look_at_launchers(Findings& found) {
  std::string programs;
  for (const char* name : {"mpirun.openmpi", "mpirun.mpich", "mpirun", "srun", "torchrun"})
    if (const std::string program = program_in_path(name); !program.empty())
      programs += (programs.empty() ? "" : ", ") + escaped(program);
  found.add("launchers", programs.empty() ? "none in PATH; several processes can be started by hand" : programs);
}

void look_at_environment(Findings& found) {
  for (const char* name : {"BELAY_PLUGIN_PATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT",
                           "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "TMPDIR", "NO_COLOR"})
    if (const char* value = std::getenv(name)) found.add("environment", std::string(name) + "=" + escaped(value));
}

}  // namespace

int doctor_command(const std::string& directory, const std::string& version, const PluginSearch& search,
                   std::ostream& out) {
  Findings found;
  utsname system{};
  found.add("belay", version);
  if (::uname(&system) == 0) found.add("system", std::string(system.sysname) + " " + system.release);
  look_at_processor(found);
  look_at_memory(found);
  look_at_limits(found);
  look_at_clock(found);
  const bool writable = look_at_disk(directory, found);
  look_at_plugins(search, found);
  look_at_launchers(found);
  look_at_environment(found);
  out << found.table.text("");
  for (const std::string& odd : found.odd) out << coded_line("warning", odd) << "\n";
  if (found.odd.empty()) out << "nothing is odd\n";
  return writable ? kExitDone : kExitUsage;
}

Command declare_doctor() {
  return {.name = "doctor",
          .arguments = "[DIR]",
          .what = "checks this machine, the disk of DIR and the plugin path, and reports problems",
          .run = [](const Given& given) {
            const std::string directory = given.arguments().empty() ? "." : given.argument("directory");
            return doctor_command(directory, version_line(), default_search(), std::cout);
          }};
}

}  // namespace belay::runtime
