// SPDX-License-Identifier: Apache-2.0
// Checks the creation of an instance for any kind of plugin: with good and with odd options, and that instances are
// independent.
//
// By the note, the host refuses unknown options, wrong types and values out of range before any plugin code. A plugin
// need not refuse them again (the SDK does), but they must not harm it.
#include <cmath>
#include <limits>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/check.h"
#include "runtime/validate/process_state.h"

namespace belay::runtime {
namespace create_cases {

using belay::testing::OptionValue;
using belay::testing::OptionValues;
using Texts = std::vector<std::string>;

// A host with every service that exists while an instance is made.
struct FullHost {
  FullHost() {
    belay::testing::FakeState::offer(host);
    belay::testing::FakeTensors::offer(host);
    host.run_directory = folder.path();
  }
  belay::testing::TemporaryFolder folder;
  belay::testing::FakeHost host;
  belay::testing::FakeGraph graph{host};
  belay::testing::FakeSession session{host, graph};
  belay::testing::FakeEvents events{host};
  belay::testing::FakeRanks ranks{host};
  belay::testing::FakeCheckpoints checkpoints{host};
  belay::testing::FakeFiles files{host};
};

// Calls f(table) for any kind.
template <class F>
void with_table(const Subject& subject, F&& f) {
  using belay::testing::find_table;
  const belay_module& m = subject.module;
  const std::string& name = subject.info.name;
  switch (subject.info.kind) {
    case PluginKind::kHook: return f(find_table<belay_hook_api>(m, name));
    case PluginKind::kSaver: return f(find_table<belay_saver_api>(m, name));
    case PluginKind::kInitFn: return f(find_table<belay_init_fn_api>(m, name));
    case PluginKind::kModel: return f(find_table<belay_model_api>(m, name));
    case PluginKind::kInput: return f(find_table<belay_input_api>(m, name));
    case PluginKind::kOp: return f(find_table<belay_op_api>(m, name));
    case PluginKind::kOptimizer: return f(find_table<belay_optimizer_api>(m, name));
    case PluginKind::kSchedule: return f(find_table<belay_schedule_api>(m, name));
    case PluginKind::kExporter: return f(find_table<belay_exporter_api>(m, name));
    case PluginKind::kCluster: return f(find_table<belay_cluster_api>(m, name));
  }
}

// Makes and destroys an instance.
void make(const Subject& subject, const OptionValues& options) {
  with_table(subject, [&](const auto* table) {
    FullHost host;
    const auto adopted = detail::adopt(table);
    const auto instance = options.create(host.host, &adopted);
    if (!instance) throw CheckFailed("create succeeded but gave no instance");
  });
}

// True if the options of the validation, and not a fault of the plugin, may be the cause of a refusal. Its constructor
// may look for a file and read it.
bool blames_options(const Subject& subject, Code code) {
  if (subject.info.options.empty()) return false;
  if (code == Code::kInvalidArgument) return true;
  return !subject.chosen.synthetic.empty() && (code == Code::kNotFound || code == Code::kFailedPrecondition ||
                                               code == Code::kPermissionDenied || code == Code::kDataLoss);
}

std::string needed_options(const Subject& subject) {
  std::vector<std::string> names;
  for (const std::string& name : subject.chosen.synthetic) names.push_back("'" + name + "'");
  if (!names.empty())
    return "it takes no synthetic value for " + joined(names) + "; give " + (names.size() == 1 ? "it" : "them") +
           " with --set " + subject.chosen.synthetic[0] + "=...";
  for (const OptionInfo& option : subject.info.options) names.push_back("'" + option.name + "'");
  return "its defaults alone are not enough; give options with --set OPTION=VALUE: it has " + joined(names);
}

void created(const Subject& subject) {
  try {
    make(subject, subject.options());
  } catch (const Error& e) {
    require_explained("create", e);
    const bool by_examples = !subject.chosen.examples.empty() && subject.chosen.synthetic.empty();
    if (subject.options_are_given || by_examples || !blames_options(subject, e.code()))
      throw CheckFailed((by_examples ? "create with the examples of its note failed: " : "create failed: ") +
                        text_of(e));
    throw OptionsNeeded(needed_options(subject) + "\n" + text_of(e));
  }
}

void two_instances(const Subject& subject) {
  with_table(subject, [&](const auto* table) {
    FullHost host;
    const auto adopted = detail::adopt(table);
    const auto first = subject.options().create(host.host, &adopted);
    { const auto second = subject.options().create(host.host, &adopted); }
    const auto third = subject.options().create(host.host, &adopted);
  });
}

void hundred_times(const Subject& subject) {
  make(subject, subject.options());  // sets up now what is set up once
  const ProcessResources before;
  for (int i = 0; i < 100; ++i) make(subject, subject.options());
  if (const std::string more = ProcessResources().more_than(before); !more.empty())
    throw CheckFailed("create and destroy, a hundred times, left " + more);
}

void unknown_option(const Subject& subject) {
  may_refuse("an option that it does not have",
             [&] { make(subject, subject.options().with(OptionValue("no-such-option", 1))); });
}

// Returns a useless value for this option.
OptionValue of_wrong_type(const OptionInfo& option) {
  if (option.list) return OptionValue(option.name, true);
  switch (option.type) {
    case OptionType::kString:
    case OptionType::kPath: return OptionValue(option.name, 7);
    default: return OptionValue(option.name, Texts{"seven"});
  }
}

void wrong_types(const Subject& subject) {
  for (const OptionInfo& option : subject.info.options) {
    if (option.type == OptionType::kTable) continue;
    may_refuse("option '" + option.name + "' of a wrong type",
               [&] { make(subject, subject.options().with(of_wrong_type(option))); });
  }
}

OptionValue number_of(const OptionInfo& option, double value) {
  if (option.type == OptionType::kInt) {
    const auto whole = static_cast<std::int64_t>(value);
    return option.list ? OptionValue(option.name, std::vector<std::int64_t>{whole}) : OptionValue(option.name, whole);
  }
  return option.list ? OptionValue(option.name, std::vector<double>{value}) : OptionValue(option.name, value);
}

double outside(const OptionInfo& option, double limit, double direction) {
  return option.type == OptionType::kInt ? limit + direction : std::nextafter(limit, direction * HUGE_VAL);
}

// Larger integers are not exact as the note's numbers.
constexpr double kLargestExact = 9007199254740992.0;

void check_limit(const Subject& subject, const OptionInfo& option, double limit, double direction) {
  const std::string at = "option '" + option.name + "' = " + detail::number_text(limit);
  may_refuse(at, [&] { make(subject, subject.options().with(number_of(option, limit))); });
  if (std::abs(limit) >= kLargestExact && option.type == OptionType::kInt) return;
  may_refuse("option '" + option.name + "' just " + (direction < 0 ? "below " : "above ") + detail::number_text(limit),
             [&] { make(subject, subject.options().with(number_of(option, outside(option, limit, direction)))); });
}

void ranges(const Subject& subject) {
  for (const OptionInfo& option : subject.info.options) {
    if (option.min) check_limit(subject, option, *option.min, -1);
    if (option.max) check_limit(subject, option, *option.max, 1);
    if (!option.choices.empty()) {
      const std::string other = "no such choice";
      may_refuse("option '" + option.name + "' = \"" + other + "\"", [&] {
        make(subject, subject.options().with(option.list ? OptionValue(option.name, Texts{other})
                                                         : OptionValue(option.name, other)));
      });
    }
    if (option.type == OptionType::kFloat && !option.list)
      may_refuse("option '" + option.name + "' = nan", [&] {
        make(subject, subject.options().with(OptionValue(option.name, std::numeric_limits<double>::quiet_NaN())));
      });
  }
}

void strange_texts(const Subject& subject) {
  const std::string texts[] = {"", std::string(100'000, 'x'), "\xff\xfe\x80", std::string("a\0b", 3),
                               "a\nb\x1b[31m%s%n"};
  for (const OptionInfo& option : subject.info.options) {
    if ((option.type != OptionType::kString && option.type != OptionType::kPath) || !option.choices.empty()) continue;
    for (const std::string& text : texts)
      may_refuse("a strange string for option '" + option.name + "'", [&] {
        make(subject, subject.options().with(option.list ? OptionValue(option.name, Texts{text})
                                                         : OptionValue(option.name, text)));
      });
  }
}

// Uses hosts whose tables are shorter or longer than those of the plugin's build.
void other_hosts(const Subject& subject) {
  struct LongHost {
    belay_host_api known;
    const void* unknown[4];
  };
  with_table(subject, [&](const auto* table) {
    FullHost host;
    const auto adopted = detail::adopt(table);
    LongHost longer{*host.host.api(), {&host, &host, &host, &host}};
    longer.known.struct_size = sizeof(longer);
    belay_host_api shorter = *host.host.api();
    shorter.struct_size = offsetof(belay_host_api, service);
    const belay_host_api* const hosts[] = {&shorter, &longer.known};
    for (const belay_host_api* api : hosts) {
      may_refuse("create in a host whose table has another length", [&] {
        void* self = nullptr;
        detail::Status status;
        status.check(adopted.create(api, host.host.raw(), nullptr, 0, &self, status));
        if (self != nullptr) adopted.destroy(self);
      });
    }
  });
}

}  // namespace create_cases

std::vector<Check> instance_checks() {
  using namespace create_cases;
  return {{"create.options", created},
          {"create.two", two_instances},
          {"create.hundred", hundred_times},
          {"create.other_hosts", other_hosts}};
}

std::vector<Check> option_checks() {
  using namespace create_cases;
  return {{"create.unknown_option", unknown_option},
          {"create.wrong_types", wrong_types},
          {"create.ranges", ranges},
          {"create.strange_texts", strange_texts}};
}

}  // namespace belay::runtime
