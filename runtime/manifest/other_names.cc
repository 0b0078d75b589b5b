// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/other_names.h"

#include <algorithm>
#include <cctype>

#include "runtime/manifest/sections.h"

namespace belay::runtime {
namespace {

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// "EarlyStoppingHook" is "earlystopping" as "early_stopping" is.
std::string without_kind(std::string_view name) {
  std::string out = plain(name);
  for (const std::string_view word : {"hook", "callback", "handler", "optimizer", "saver", "lr"})
    if (out.size() > word.size() && out.ends_with(word)) out.resize(out.size() - word.size());
  return out;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const OtherName* find_other(std::string_view kind, std::string_view name) {
  for (const OtherName& other : other_names())
    if (kind == other.kind && has_word(other.names, name)) return &other;
  return nullptr;
}

std::string help_of(const OtherName& other) {
  const std::string section = other.section, key = other.key, remark = other.remark;
  std::string help;
  if (!section.empty()) help = "write " + (key.empty() ? "" : key + " in ") + section_header(section);
  if (section.empty() && !key.empty()) help = "write \"" + key + "\"";
  return help + (help.empty() || remark.empty() ? "" : ": ") + remark;
}

}  // namespace

const std::vector<OtherName>& other_names() {
  static const std::vector<OtherName> table = {
      // ---- sections
      {"", "trainer training train args config", "run", "", "max_steps, dir, seed and threads"},
      {"", "data dataset dataloader datamodule traindata trainset", "input.train", "", ""},
      {"", "valdata validation validationdata evaldata testdata val", "input.eval", "", ""},
      {"", "callbacks callback handlers", "hooks", "", "one for each"},
      {"", "network net module architecture", "model", "", ""},
      {"", "scheduler lrscheduler lrschedulertype schedule", "optimizer", "learning_rate",
       "learning_rate = { schedule = \"cosine_decay\", ... }"},
      {"", "logger loggers logging tensorboard", "session", "save_summaries_steps",
       "events for TensorBoard are written into the run directory by themselves"},
      {"", "distributed strategy", "cluster", "", ""},
      {"", "replicastoaggregate totalnumreplicas backupworkers", "", "",
       "a step has the gradients of all ranks, no fewer and none that come late; how many there are the launcher says"},
      // ---- [run]
      {"", "logdir outputdir defaultrootdir modeldir savedir workdir checkpointdir ckptdir dirpath basedir", "run",
       "dir", ""},
      {"", "maxiter maxiters totalsteps numsteps trainsteps iterations iters steps niter", "run", "max_steps", ""},
      {"", "randomseed randomstate tfrandomseed manualseed rngseed", "run", "seed", ""},
      {"", "numthreads njobs intraopparallelismthreads nthreads", "run", "threads", ""},
      // ---- inputs
      {"", "batch bs perdevicetrainbatchsize trainbatchsize minibatchsize minibatch", "input.train", "batch_size", ""},
      {"", "perdeviceevalbatchsize evalbatchsize valbatchsize", "input.eval", "batch_size", ""},
      {"", "maxepochs numepochs numtrainepochs nepochs epoch", "input.train", "epochs", ""},
      {"", "numworkers dataloadernumworkers workers nworkers", "input.train", "decode_threads", ""},
      {"", "prefetchfactor buffersize", "input.train", "prefetch", ""},
      {"", "limittrainbatches overfitbatches stepsperepoch", "hooks", "plugin", "plugin = \"limit_batches\""},
      {"", "validationsplit valsplit testsize", "input.eval", "split", "split = \"eval\", and eval_fraction"},
      // ---- [optimizer]
      {"", "lr eta stepsize alpha", "optimizer", "learning_rate", ""},
      {"", "gradientaccumulationsteps accumulategradbatches gradaccum gradaccumsteps accumsteps", "optimizer",
       "accumulate", ""},
      {"", "gradientclipval maxgradnorm globalclipnorm gradclip gradclipnorm clipgradnorm", "optimizer", "clip_norm",
       ""},
      {"", "clipgradvalue", "optimizer", "clip_value", ""},
      {"", "paramgroups", "optimizer", "groups", ""},
      {"", "weightdecay", "optimizer", "name", "name = \"adamw\" has weight_decay"},
      {"", "warmup warmupratio numwarmupsteps", "optimizer", "learning_rate",
       "learning_rate = { schedule = \"cosine_decay\", warmup_steps = 100, ... }"},
      {"", "useema emamomentum emadecay", "hooks", "plugin", "plugin = \"weight_averaging\""},
      // ---- [checkpoint]
      {"", "savetopk savebestonly", "checkpoint", "keep_best", ""},
      {"", "monitor metricforbestmodel", "checkpoint", "best_metric", ""},
      {"", "greaterisbetter monitormode", "checkpoint", "best_mode", ""},
      {"", "savetotallimit keepcheckpointmax maxcheckpoints keepcheckpoints", "checkpoint", "max_to_keep", ""},
      {"", "savecheckpointssteps everyntrainsteps saveinterval saveevery savefreq", "checkpoint", "save_steps", ""},
      {"", "savecheckpointssecs savecheckpointsecs", "checkpoint", "save_secs", ""},
      {"", "keepcheckpointeverynhours", "checkpoint", "keep_every_hours", ""},
      {"", "resumefromcheckpoint resume autoresume ckptpath", "", "",
       "a run goes on from the newest checkpoint of its directory by itself"},
      {"", "initfromcheckpoint pretrained pretrainedmodel warmstartfrom", "scaffold", "init_fn",
       "init_fn = [{ plugin = \"warm_start\", from = \"...\" }]"},
      // ---- [eval]
      {"",
       "evalsteps valcheckinterval evalstrategy evaluationstrategy evalinterval evalevery evalfreq validationfreq "
       "checkvaleverynepoch",
       "eval", "every_steps", ""},
      {"", "limitvalbatches evalbatches valsteps validationsteps", "eval", "batches", ""},
      // ---- [session]
      {"", "logeverynsteps loggingsteps loginterval logevery printevery verbose", "session", "log_step_count_steps",
       ""},
      {"", "mixedprecision fp16 bf16 amp dtype", "session", "precision", "\"float32\" or \"bf16\""},
      // ---- what is a hook here
      {"", "earlystoppingpatience patience earlystop", "hooks", "plugin", "plugin = \"early_stopping\""},
      {"", "fastdevrun", "", "", "belay run --short N makes N steps and keeps nothing"},
      {"", "maxtime maxduration timelimit", "hooks", "plugin", "plugin = \"time_limit\""},
      {"", "loadbestmodelatend restorebestweights", "hooks", "plugin", "plugin = \"restore_best\""},
      // ---- plugins
      {"hook", "modelcheckpoint checkpoint checkpointsaver backupandrestore onexceptioncheckpoint", "checkpoint", "",
       "checkpoints are written by themselves, that section says when and how many"},
      {"hook", "terminateonnan nanguard nantensor nanmonitor", "", "nan_tensor", ""},
      {"hook", "progressbar tqdmprogressbar richprogressbar tqdm progbarlogger", "", "progress", ""},
      {"hook", "timer timerstop timestopper stopatsecs", "", "time_limit", ""},
      {"hook", "learningratescheduler lrschedulercallback onecycle", "optimizer", "learning_rate",
       "learning_rate = { schedule = \"cosine_decay\", ... }"},
      {"hook", "tensorboard tensorboardlogger", "session", "save_summaries_steps",
       "events for TensorBoard are written into the run directory by themselves"},
      {"hook", "loggingtensorhook printlogger printer", "", "logging_tensor", ""},
      {"hook", "learningratemonitor", "", "lr_monitor", ""},
      {"hook", "ema swa swapemaweights emaweightaveraging stochasticweightaveraging emahandler", "", "weight_averaging",
       ""},
      {"hook", "devicestatsmonitor systemmetricsmonitor", "", "system_metrics", ""},
      {"hook", "throughputmonitor speedmonitor", "", "step_counter", ""},
      {"hook", "richmodelsummary", "", "model_summary", ""},
      {"hook", "optimizermonitor", "", "gradient_norms", ""},
      {"hook", "pytorchprofiler jsontrace", "", "profiler", ""},
      {"hook", "basefinetuning backbonefinetuning layerfreezing", "optimizer", "groups", ""},
      {"hook", "gradientaccumulation gradientaccumulationscheduler", "optimizer", "accumulate", ""},
      {"hook", "basepredictionwriter predictionwriter", "", "", "belay predict writes predictions"},
      {"schedule", "cosine cosineannealing cosineannealinglr cosinewithwarmup", "", "cosine_decay", ""},
      {"schedule", "step steplr multistep multisteplr piecewise piecewiseconstantdecay", "", "piecewise_constant", ""},
      {"schedule", "exponential exponentiallr exp", "", "exponential_decay", ""},
      {"schedule", "linear linearlr polynomial poly polynomiallr", "", "polynomial_decay", ""},
      {"schedule", "constantwithwarmup", "", "constant", "with warmup_steps"},
      {"schedule", "reducelronplateau reduceonplateau", "hooks", "plugin", "plugin = \"reduce_lr_on_plateau\""},
      {"schedule", "inversetime", "", "inverse_time_decay", ""},
      {"model", "dense fc feedforward multilayerperceptron dnn dnnclassifier", "", "mlp", ""},
      {"model", "convnet conv lenet", "", "cnn", ""},
      {"model", "logisticregression linearregression linearclassifier linearregressor", "", "linear", ""},
      {"model", "gpt nanogpt causallm", "", "transformer", ""},
      {"input", "mnist fashionmnist ubyte", "", "idx", ""},
      {"input", "numpy npz ndarray", "", "npy", ""},
      {"input", "tsv pandas table", "", "csv", ""},
      {"input", "txt characters corpus", "", "text", ""},
      {"input", "tfrecords recordio", "", "tfrecord", ""},
  };
  return table;
}

std::string help_for_other_key(std::string_view name) {
  const OtherName* other = find_other("", plain(name));
  return other == nullptr ? "" : help_of(*other);
}

std::string help_for_other_plugin(std::string_view kind, std::string_view name, const std::vector<std::string>& known) {
  for (const std::string& k : known)
    if (without_kind(name) == without_kind(k)) return "did you mean \"" + k + "\"?";
  for (const std::string& other_name : {plain(name), without_kind(name)})
    if (const OtherName* other = find_other(kind, other_name)) return help_of(*other);
  return "";
}

}  // namespace belay::runtime
