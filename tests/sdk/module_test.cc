// SPDX-License-Identifier: Apache-2.0
#include "belay/module.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/hook_driver.h"

namespace {

using belay::Code;
using belay::testing::error_of;
using belay::testing::FakeHost;
using belay::testing::HookDriver;
using belay::testing::OptionValues;

// Throws as its option asks, in the callback that the option names.
class Thrower final : public belay::Hook {
 public:
  struct Options {
    belay::Str at;
  };
  static constexpr auto about =
      belay::about("thrower", "Throws", belay::option("at", &Options::at, "in which callback"));
  explicit Thrower(const Options& o) : at_(o.at) { maybe("create"); }
  void begin(belay::Graph&) override { maybe("begin"); }
  void after_create_session(belay::Session&) override { maybe("after_create_session"); }
  belay::RunArgs before_run(belay::RunContext&) override {
    maybe("before_run");
    return {};
  }
  void after_run(belay::RunContext&, const belay::RunValues&) override { maybe("after_run"); }
  void end(belay::Session&) override { maybe("end"); }
  void before_save(belay::Session&, std::int64_t) override { maybe("before_save"); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    maybe("after_save");
    return true;
  }
  void on_error(const belay::Error&) override { maybe("on_error"); }
  void save_state(belay::StateWriter&) const override { maybe("save_state"); }
  void load_state(const belay::StateReader&) override { maybe("load_state"); }

 private:
  void maybe(const char* callback) const {
    if (at_ == callback) throw belay::Error(Code::kAborted, "thrown in " + std::string(callback));
  }
  const std::string at_;
};

// A whole life; every callback is called.
void live(const char* at) {
  static constexpr belay_hook_api table = belay::detail::make_table<Thrower>();
  HookDriver hook(&table, {{"at", at}});
  hook.begin();
  hook.load_state({});
  hook.create_session();
  hook.step();
  hook.save();
  hook.end();
  hook.error(belay::Error(Code::kInternal, "x"));
}

TEST(Module, AnErrorInAnyCallbackReachesTheHost) {
  EXPECT_EQ(error_of([] { live("nowhere"); }), "");
  for (const char* callback : {"create", "begin", "after_create_session", "before_run", "after_run", "end",
                               "before_save", "after_save", "on_error", "save_state", "load_state"})
    EXPECT_EQ(error_of([&] { live(callback); }), "ABORTED: thrown in " + std::string(callback));
}

TEST(Module, CallbacksThatAreNotOverriddenAreNull) {
  class Quiet final : public belay::Hook {
   public:
    void end(belay::Session&) override {}
  };
  constexpr belay_hook_api table = belay::detail::hook_table<Quiet>();
  EXPECT_EQ(table.struct_size, sizeof(belay_hook_api));
  EXPECT_EQ(table.begin, nullptr);
  EXPECT_EQ(table.before_run, nullptr);
  EXPECT_EQ(table.load_state, nullptr);
  EXPECT_NE(table.end, nullptr);
  EXPECT_NE(table.destroy, nullptr);
}

TEST(Module, CallbacksMayBeNoexceptAndInherited) {
  class Base : public belay::Hook {
   public:
    void begin(belay::Graph&) noexcept override {}
  };
  class Derived final : public Base {
   public:
    void after_run(belay::RunContext&, const belay::RunValues&) override {}
  };
  constexpr belay_hook_api table = belay::detail::hook_table<Derived>();
  EXPECT_NE(table.begin, nullptr);
  EXPECT_NE(table.after_run, nullptr);
  EXPECT_EQ(table.end, nullptr);
}

class Greeter final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("greeter", "Says hello while it is made");
  Greeter() { host().info("hello from " + host().instance_name()); }
};

// host() works there already.
TEST(Module, TheConstructorHasAHost) {
  static constexpr belay_hook_api table = belay::detail::make_table<Greeter>();
  FakeHost host("first");
  const auto handle = host.create(&table);
  EXPECT_EQ(host.logged(), std::vector<std::string>{"info: hello from first"});
  EXPECT_EQ(error_of([] { Greeter(); }), "FAILED_PRECONDITION: this plugin object has no host yet");
}

class Counted final : public belay::Hook {
 public:
  explicit Counted(int& alive) : alive_(alive) { ++alive_; }
  ~Counted() override { --alive_; }
  void begin(belay::Graph&) override { host().info("begun"); }

 private:
  int& alive_;
};

TEST(Module, AProgramsOwnHookIsATableAndAnObject) {
  int alive = 0;
  FakeHost host;
  {
    belay::HookHandle handle = belay::hook(host.api(), host.raw(), std::make_unique<Counted>(alive));
    EXPECT_TRUE(handle);
    EXPECT_EQ(alive, 1);
    belay::HookHandle moved = std::move(handle);
    EXPECT_FALSE(handle);
    EXPECT_EQ(alive, 1);
    handle = std::move(moved);
    EXPECT_EQ(alive, 1);
    belay::detail::Status status;
    EXPECT_EQ(handle.table()->begin(handle.self(), nullptr, status), BELAY_OK);
    EXPECT_TRUE(host.has_logged("begun"));
  }
  EXPECT_EQ(alive, 0);
}

TEST(Module, AHandleThatBorrowsDestroysNothing) {
  int alive = 0;
  FakeHost host;
  const belay::HookHandle owner = belay::hook(host.api(), host.raw(), std::make_unique<Counted>(alive));
  { const belay::HookHandle borrower(owner.table(), owner.self(), false); }
  EXPECT_EQ(alive, 1);
}

// The result of before_run stays valid until the instance's next call, and is replaced then.
TEST(Module, BeforeRunsRequestLivesUntilTheNextCall) {
  class Asker final : public belay::Hook {
   public:
    belay::RunArgs before_run(belay::RunContext&) override {
      belay::RunArgs args;
      for (int i = 0; i < n; ++i) args.fetch(belay::Output(nullptr, nullptr, {1, static_cast<std::uint32_t>(i), 0}));
      if (n == 0) throw belay::Error(Code::kAborted, "nothing to ask for");
      return args;
    }
    int n = 20;
  };
  FakeHost host;
  auto object = std::make_unique<Asker>();
  Asker& asker = *object;
  const belay::HookHandle handle = belay::hook(host.api(), host.raw(), std::move(object));
  auto args = belay::detail::sized<belay_run_args>();
  belay::detail::Status status;
  for (const int n : {20, 3, 9}) {
    asker.n = n;
    ASSERT_EQ(handle.table()->before_run(handle.self(), nullptr, &args, status), BELAY_OK);
    ASSERT_EQ(args.n_fetches, static_cast<std::uint64_t>(n));
    EXPECT_EQ(args.fetches[n - 1].node, static_cast<std::uint32_t>(n - 1));
  }
  asker.n = 0;
  EXPECT_EQ(handle.table()->before_run(handle.self(), nullptr, &args, status), BELAY_ABORTED);
}

}  // namespace
