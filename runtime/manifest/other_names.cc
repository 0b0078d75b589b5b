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

// Turns "EarlyStoppingHook" into "earlystopping", like "early_stopping".
std::string without_kind(std::string_view name) {
  std::string out = plain(name);
  for (const std::string_view word : {"hook", "callback", "handler", "optimizer", "saver", "lr"})
    if (out.size() > word.size() && out.ends_with(word)) out.erase(out.size() - word.size());
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
      {"", "optim optimisers", "optimizer", "", ""},
      {"", "ckpt checkpointing enablecheckpointing savestrategy", "checkpoint", "",
       "checkpoints are written wherever [run] has a dir"},
      {"", "evaluation evaluate validate test", "eval", "", "when to evaluate; on what is [input.eval]"},
      {"", "scheduler lrscheduler lrschedulertype schedule", "optimizer", "learning_rate",
       "learning_rate = { schedule = \"cosine_decay\", ... }"},
      {"", "logger loggers logging tensorboard", "session", "save_summaries_steps",
       "events for TensorBoard are written into the run directory by themselves"},
      {"", "distributed strategy devices numnodes nodes worldsize nprocpernode numprocesses", "cluster", "",
       "and start the manifest once for each process"},
      {"", "replicastoaggregate totalnumreplicas backupworkers", "", "",
       "a step has the gradients of all ranks, no fewer and none that come late; the launcher decides how many there "
       "are"},
      // ---- [run]
      {"", "logdir outputdir defaultrootdir modeldir savedir workdir checkpointdir ckptdir dirpath basedir", "run",
       "dir", ""},
      {"", "runname experimentname jobname loggingdir tensorboarddir", "run", "dir", "a run is known by its directory"},
      {"", "minepochs", "run", "min_steps", "steps, not epochs"},
      {"", "dotrain doeval dopredict", "run", "mode", "or belay evaluate and belay predict"},
      {"", "maxiter maxiters totalsteps numsteps trainsteps iterations iters steps niter", "run", "max_steps", ""},
      {"", "randomseed randomstate tfrandomseed manualseed rngseed seedeverything", "run", "seed", ""},
      {"", "numthreads njobs intraopparallelismthreads nthreads", "run", "threads", ""},
      // ---- inputs
      {"", "batch batchsize bs perdevicetrainbatchsize trainbatchsize minibatchsize minibatch", "input.train",
       "batch_size", ""},
      {"", "perdeviceevalbatchsize evalbatchsize valbatchsize", "input.eval", "batch_size", ""},
      {"", "epochs maxepochs numepochs numtrainepochs nepochs epoch", "input.train", "epochs", ""},
      {"", "numworkers dataloadernumworkers workers nworkers", "input.train", "decode_threads", ""},
      {"", "shuffle", "input.train", "shuffle", ""},
      {"", "prefetchfactor buffersize", "input.train", "prefetch", ""},
      {"", "limittrainbatches overfitbatches stepsperepoch", "hooks", "plugin", "plugin = \"limit_batches\""},
      {"", "validationsplit valsplit testsize", "input.eval", "split", "split = \"eval\", and eval_fraction"},
      // ---- [model]
      {"", "hiddensize hiddenunits hiddenlayersizes hiddenlayers hiddendim layersizes numlayers units", "model",
       "hidden", "\"mlp\" has hidden = [128, 64], and \"sequential\" layers"},
      {"", "numclasses nclasses numlabels outputdim", "model", "classes", ""},
      {"", "loss lossfn criterion objective lossfunction", "model", "task",
       "the loss follows from the label, cross entropy of a class and squared error of a number"},
      {"", "hidden", "model", "hidden", ""},
      {"", "layers", "model", "layers", ""},
      {"", "filters", "model", "filters", ""},
      {"", "activation", "model", "activation", ""},
      {"", "dropout", "model", "dropout", ""},
      {"", "inputshape inputsize inputdim infeatures inchannels", "", "", "shapes follow from the data: take it away"},
      // ---- [optimizer]
      {"", "lr eta stepsize alpha", "optimizer", "learning_rate", ""},
      {"", "gradientaccumulationsteps accumulategradbatches gradaccum gradaccumsteps accumsteps", "optimizer",
       "accumulate", ""},
      {"", "gradientclipval maxgradnorm globalclipnorm gradclip gradclipnorm clipgradnorm", "optimizer", "clip_norm",
       ""},
      {"", "clipgradvalue", "optimizer", "clip_value", ""},
      {"", "paramgroups", "optimizer", "groups", ""},
      {"", "weightdecay", "optimizer", "name", "name = \"adamw\" has weight_decay"},
      {"", "adambeta1 adambeta2 betas beta1 beta2 eps adamepsilon", "optimizer", "name",
       "name = \"adam\" has beta1, beta2 and epsilon"},
      {"", "momentum nesterov", "optimizer", "name", "name = \"momentum\" has momentum and use_nesterov"},
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
      {"", "resumefromcheckpoint resume autoresume ckptpath initialepoch startepoch", "", "",
       "a run continues from the newest checkpoint of its directory by itself"},
      {"", "overwriteoutputdir", "", "", "belay run --from-scratch begins anew"},
      {"", "initfromcheckpoint pretrained pretrainedmodel warmstartfrom", "scaffold", "init_fn",
       "init_fn = [{ plugin = \"warm_start\", from = \"...\" }]"},
      // ---- [eval]
      {"",
       "evalsteps valcheckinterval evalstrategy evaluationstrategy evalinterval evalevery evalfreq validationfreq "
       "checkvaleverynepoch",
       "eval", "every_steps", ""},
      {"", "limitvalbatches evalbatches valsteps validationsteps", "eval", "batches", ""},
      {"", "numsanityvalsteps sanitycheck", "eval", "at_start", "at_start = true"},
      // ---- keys of one section that another section spells otherwise
      {"in checkpoint", "everysteps steps saveeverysteps", "checkpoint", "save_steps", ""},
      {"in checkpoint", "everysecs secs", "checkpoint", "save_secs", ""},
      {"in eval", "savesteps steps", "eval", "every_steps", ""},
      {"in eval", "savesecs secs", "eval", "every_secs", ""},
      // ---- [session]
      {"", "logeverynsteps loggingsteps loginterval logevery printevery verbose", "session", "log_step_count_steps",
       ""},
      {"", "mixedprecision fp16 bf16 amp dtype", "session", "precision", "\"float32\" or \"bf16\""},
      {"", "reportto", "session", "save_summaries_steps",
       "events for TensorBoard are written into the run directory by themselves"},
      // ---- names that need no key
      {"", "device accelerator gpus gpu cuda nocuda usecpu", "", "",
       "there is no GPU: a run uses the processor, with as many threads as [run] sets"},
      {"", "deterministic benchmark seedworkers", "", "", "a run is always deterministic: take it away"},
      {"", "disabletqdm enableprogressbar", "", "", "belay run -q shows warnings only; off a terminal there is no bar"},
      {"", "pinmemory persistentworkers", "", "", "batches are read ahead by themselves: take it away"},
      // ---- names of things that are hooks here
      {"", "profiler", "hooks", "plugin", "plugin = \"profiler\"; or belay run --trace"},
      {"", "detectanomaly terminateonnan", "hooks", "plugin", "plugin = \"nan_guard\""},
      {"", "enablemodelsummary", "hooks", "plugin", "plugin = \"model_summary\"; or belay graph"},
      {"", "earlystoppingpatience patience earlystop earlystopping", "hooks", "plugin", "plugin = \"early_stopping\""},
      {"", "fastdevrun", "", "", "belay run --short N makes N steps and keeps nothing"},
      {"", "maxtime maxduration timelimit", "hooks", "plugin", "plugin = \"time_limit\""},
      {"", "loadbestmodelatend restorebestweights", "hooks", "plugin", "plugin = \"restore_best\""},
      // ---- plugins
      {"hook",
       "modelcheckpoint checkpoint checkpointsaver backupandrestore onexceptioncheckpoint savemodel disk disksaver",
       "checkpoint", "", "checkpoints are written by themselves, that section sets when and how many"},
      {"hook", "terminateonnan nanguard nantensor nanmonitor", "", "nan_tensor", ""},
      {"hook", "progressbar tqdmprogressbar richprogressbar tqdm progbarlogger", "", "progress", ""},
      {"hook", "timer timerstop timestopper stopatsecs", "", "time_limit", ""},
      {"hook", "earlystop", "", "early_stopping", ""},
      {"hook", "thresholdstopper", "", "threshold_stop", ""},
      {"hook", "csv", "", "csv_logger", ""},
      {"hook", "json jsonl jsonlogger wandb wandblogger mlflow mlflowlogger cometlogger neptunelogger clearml", "",
       "json_lines", "metrics.jsonl is for other programs, and written by itself"},
      {"hook", "logger", "", "logging_tensor", ""},
      {"hook", "recorder", "", "history", ""},
      {"hook", "paramscheduler stateparamscheduler", "", "parameter_schedule", ""},
      {"hook", "lambda", "", "", "belay new hook NAME makes a hook of your own"},
      {"hook", "evaluate eval evaluator inmemoryevaluator validation", "eval", "every_steps", ""},
      {"hook", "gradientclipping gradientclip gradclip", "optimizer", "clip_norm", ""},
      {"hook", "mixedprecision", "session", "precision", ""},
      {"hook", "learningratescheduler lrschedulercallback lrscheduler onecycle onecyclescheduler", "optimizer",
       "learning_rate", "learning_rate = { schedule = \"cosine_decay\", ... }"},
      {"hook", "tensorboard tensorboardlogger", "session", "save_summaries_steps",
       "events for TensorBoard are written into the run directory by themselves"},
      {"hook", "loggingtensorhook printlogger printer", "", "logging_tensor", ""},
      {"hook", "learningratemonitor", "", "lr_monitor", ""},
      {"hook", "ema swa swapemaweights emaweightaveraging stochasticweightaveraging emahandler", "", "weight_averaging",
       ""},
      {"hook", "devicestatsmonitor systemmetricsmonitor memorymonitor systemresourcesmonitor", "", "system_metrics",
       ""},
      {"hook", "throughputmonitor speedmonitor", "", "step_counter", ""},
      {"hook", "richmodelsummary", "", "model_summary", ""},
      {"hook", "optimizermonitor", "", "gradient_norms", ""},
      {"hook", "pytorchprofiler jsontrace", "", "profiler", ""},
      {"hook", "basefinetuning backbonefinetuning layerfreezing", "optimizer", "groups", ""},
      {"hook", "gradientaccumulation gradientaccumulationscheduler", "optimizer", "accumulate", ""},
      {"hook", "basepredictionwriter predictionwriter", "", "", "belay predict writes predictions"},
      {"optimizer", "gradientdescent", "", "sgd", ""},
      {"optimizer", "adamwtorch adamwhf adamwtorchfused", "", "adamw", ""},
      {"schedule", "onecycle", "", "cosine_decay", "with warmup_steps"},
      {"schedule", "warmup linearwarmup", "", "constant", "with warmup_steps"},
      {"schedule", "lambda", "", "", "belay new schedule NAME makes a schedule of your own"},
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
      {"model", "gpt nanogpt causallm bert llama", "", "transformer", ""},
      {"input", "mnist fashionmnist ubyte", "", "idx", ""},
      {"input", "numpy npz ndarray", "", "npy", ""},
      {"input", "tsv pandas table", "", "csv", ""},
      {"input", "txt characters corpus", "", "text", ""},
      {"input", "tfrecords recordio", "", "tfrecord", ""},
      // ---- words that are values of a key
      {"value", "fp32 float single full", "", "float32", ""},
      {"value", "fp16 float16 half bfloat16 mixed mixedfloat16 16mixed bf16mixed", "", "bf16", ""},
      {"value", "fit", "", "train", ""},
      {"value", "test validate", "", "evaluate", ""},
      {"value", "val valid validation testing", "", "eval", ""},
      {"value", "mse", "", "mean_squared_error", ""},
      {"value", "rmse", "", "root_mean_squared_error", ""},
      {"value", "mae l1", "", "mean_absolute_error", ""},
      {"value", "topk topkaccuracy topkcategoricalaccuracy", "", "in_top_k", ""},
      {"value", "linear fc fullyconnected", "", "dense", ""},
      {"value", "conv2d convolution convolution2d", "", "conv", ""},
      {"value", "maxpool2d maxpooling maxpooling2d", "", "max_pool", ""},
      {"value", "avgpool2d averagepooling averagepooling2d", "", "avg_pool", ""},
      {"value", "globalaveragepooling globalaveragepooling2d adaptiveavgpool2d", "", "global_avg_pool", ""},
      {"value", "batchnorm2d batchnorm1d batchnormalization", "", "batch_norm", ""},
      {"value", "layernormalization", "", "layer_norm", ""},
      {"value", "relu sigmoid tanh elu softplus", "", "activation", ""},
      {"value", "continuous real number regression", "", "float", ""},
      {"value", "integer int category categorical", "", "class", ""},
      // ---- options
      {"option", "plugin type kind optimizer", "", "name", ""},
      {"option", "plugin type kind name", "", "schedule", ""},
      {"option", "layer", "", "layers", ""},
      {"option", "monitor metric quantity", "", "tensor", ""},
      {"option", "kernelsize filtersize poolsize window", "", "size", ""},
      {"option", "outchannels channels outputchannels", "", "filters", ""},
      {"option", "outfeatures outputsize outputdim", "", "units", ""},
      {"option", "embeddingdim", "", "width", ""},
      {"option", "numembeddings inputdim", "", "entries", ""},
      {"option", "p prob probability dropout", "", "rate", ""},
      {"option", "bias", "", "use_bias", ""},
      {"option", "targetshape", "", "shape", ""},
      {"option", "numclasses nclasses numlabels outputdim", "", "classes", ""},
      {"option", "hiddensize hiddenunits hiddenlayersizes hiddenlayers layersizes units", "", "hidden", ""},
      {"option", "eps", "", "epsilon", ""},
      {"option", "nesterov", "", "use_nesterov", ""},
      {"option", "tmax", "", "decay_steps", ""},
      {"option", "etamin", "", "alpha", ""},
      {"option", "initiallearningrate baselr maxlr lr", "", "learning_rate", ""},
      {"option", "params parameters variables", "", "vars", ""},
      {"option", "lr lrscale lrmult learningrate", "", "learning_rate_scale", ""},
  };
  return table;
}

std::string help_for_other_key(std::string_view name, std::string_view section) {
  const OtherName* other = find_other("", plain(name));
  if (other == nullptr) return "";
  // If the key exists already, the name belongs to something else.
  const bool there = section == other->section && *other->remark == '\0' && (*other->key == '\0' || name == other->key);
  return there ? "" : help_of(*other);
}

std::string help_for_key_in(std::string_view name, const std::string& section) {
  const OtherName* other = find_other("in " + section, plain(name));
  return other == nullptr ? "" : help_of(*other);
}

std::string word_for_other(std::string_view kind, std::string_view name, const std::vector<std::string>& words) {
  const std::string wanted = plain(name);
  for (const OtherName& other : other_names())
    if (kind == other.kind && has_word(other.names, wanted) &&
        std::find(words.begin(), words.end(), other.key) != words.end())
      return other.key;
  return "";
}

std::string help_for_other_plugin(std::string_view kind, std::string_view name, const std::vector<std::string>& known) {
  for (const std::string& k : known)
    if (without_kind(name) == without_kind(k)) return "did you mean \"" + k + "\"?";
  for (const std::string& other_name : {plain(name), without_kind(name)})
    if (const OtherName* other = find_other(kind, other_name)) return help_of(*other);
  return "";
}

}  // namespace belay::runtime
