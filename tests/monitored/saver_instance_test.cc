// SPDX-License-Identifier: Apache-2.0
// A saver's instance, which the thread that writes and the session's thread share.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/monitored/saving/run_saver.h"
#include "tests/monitored/saver_fixture.h"
#include "tests/monitored/turnstile.h"

namespace belay::runtime::testing {
namespace {

using SaverInstance = SaverTest;

// A saver that knows when two of its calls overlap.
struct LonelySaver {
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  std::atomic<bool> writing{false};
  Turnstile turnstile;

  static LonelySaver& from(void* self) { return *static_cast<LonelySaver*>(self); }
  void enter() {
    if (inside.fetch_add(1) != 0) overlapped = true;
  }
  void leave() { inside.fetch_sub(1); }
  static std::int32_t write(void* self, belay_dir*, belay_tensors*, belay_status*) {
    LonelySaver& saver = from(self);
    saver.enter();
    saver.turnstile.pass();
    saver.leave();
    return BELAY_OK;
  }
  static std::int32_t read(void* self, belay_dir*, belay_tensors*, belay_status*) {
    from(self).enter();
    from(self).leave();
    return BELAY_OK;
  }
};
LonelySaver* lonely = nullptr;

TEST_F(SaverInstance, AReadOfTheSaversInstanceWaitsForTheWriteOfAnotherThread) {
  LonelySaver saver;
  lonely = &saver;
  belay_saver_api table = detail::adopt(static_cast<const belay_saver_api*>(nullptr));
  table.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void** self,
                    belay_status*) {
    *self = lonely;
    return std::int32_t{BELAY_OK};
  };
  table.destroy = [](void*) {};
  table.write = LonelySaver::write;
  table.read = LonelySaver::read;
  RegisteredPlugin plugin;
  plugin.info.kind = PluginKind::kSaver;
  plugin.info.name = "lonely";
  plugin.table = table;
  ResolvedPlugin use;
  use.info = plugin.info;
  use.instance_name = "lonely";
  PluginInstance instance(plugin, use, services, monitor);
  const SaverUse one = saver_use(instance), copy = one;
  const std::vector<NamedTensor> tensors;
  const std::map<std::string, NamedTensor, std::less<>> wanted;
  TensorsToWrite to_write(tensors);
  TensorsToRead to_read(wanted);
  std::thread writer([&] { one.write(nullptr, to_write.handle()); });
  saver.turnstile.await_arrivals(1);
  std::thread reader([&] { copy.read(nullptr, to_read.handle()); });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  saver.turnstile.open();
  writer.join();
  reader.join();
  EXPECT_FALSE(saver.overlapped);
}

}  // namespace
}  // namespace belay::runtime::testing
