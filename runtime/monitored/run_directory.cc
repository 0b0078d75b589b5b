#include "runtime/monitored/run_directory.h"

#include "runtime/checkpoint/leftovers.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

RunDirectory RunDirectory::open(FileSystem& files, const std::string& path, const Clock& clock, Logger& log) {
  std::unique_ptr<OpenDirectory> directory = files.make_directories(path);
  constexpr std::uint32_t kWorldWritable = 0002, kSticky = 01000;
  const FileStatus status = files.status(path);
  if ((status.mode & kWorldWritable) != 0 && (status.mode & kSticky) == 0)
    fail(Code::kPermissionDenied, "the run directory '" + escaped(path) +
                                      "' may be written by everybody; run: chmod o-w '" + escaped(path) + "'");
  RunLock lock = RunLock::take(*directory, clock);
  remove_leftovers(*directory, log);
  return RunDirectory(std::make_unique<LockedDirectory>(std::move(directory), std::move(lock)));
}

}  // namespace belay::runtime
