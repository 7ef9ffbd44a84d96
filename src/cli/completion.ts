import { Argument, type Command, type Option } from 'commander';

/** A command as a completion script sees it. */
export interface CompletedCommand {
  /** Words after `stillframe`, joined by spaces; empty for the program itself. */
  at: string;
  commands: { name: string; help: string }[];
  options: CompletedOption[];
  /** The values that its argument may have, if they are fixed. */
  choices: string[];
  /** Whether an argument may be a file. */
  takesFile: boolean;
}

export interface CompletedOption {
  /** Names such as `--output`, and `-o` where there is one. */
  names: string[];
  help: string;
  value: 'none' | 'text' | 'file' | readonly string[];
}

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const EXAMPLES = `
Examples:
  bash: echo 'source <(stillframe completion bash)' >> ~/.bashrc
  zsh:  echo 'source <(stillframe completion zsh)' >> ~/.zshrc   (after compinit)
  fish: stillframe completion fish > ~/.config/fish/completions/stillframe.fish`;

/**
 * `stillframe completion bash | zsh | fish`: a completion script, generated from the commands and flags of the program. Packages such as
 * `omelette` and `tabtab` start the program at each Tab instead.
 */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', EXAMPLES)
    .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(SCRIPTS[shell](completionModel(program))));
}

/** Lists the program and each of its commands. The program has the options of its default command as well. */
export function completionModel(program: Command, defaultName = 'serve'): CompletedCommand[] {
  const all = commandsBelow(program, '');
  const [root] = all;
  const options = all.find(({ at }) => at === defaultName)?.options ?? [];
  root?.options.push(...options.filter(({ names }) => !names.includes('--help')));
  return all;
}

function commandsBelow(command: Command, at: string): CompletedCommand[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const own = {
    at,
    commands: subcommands.map((each) => ({ name: each.name(), help: oneLine(each.summary() || each.description()) })),
    options: help.visibleOptions(command).map(toCompleted),
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    takesFile: command.registeredArguments.some((argument) => /^(file|url)$/.test(argument.name())),
  };
  return [own, ...subcommands.flatMap((each) => commandsBelow(each, `${at} ${each.name()}`.trim()))];
}

function toCompleted(option: Option): CompletedOption {
  const names = [option.long, option.short].filter((name) => name !== undefined && name !== null);
  return { names, help: oneLine(option.description), value: valueKind(option) };
}

function valueKind(option: Option): CompletedOption['value'] {
  if (!option.required && !option.optional) return 'none';
  return option.argChoices ?? (/<(file|dir|path)>/.test(option.flags) ? 'file' : 'text');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/**
 * Generates a script for bash 3.2 (macOS) and later, without the bash-completion package. bash completes files if the script offers
 * nothing.
 */
function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# stillframe completion for bash. To use it: source <(stillframe completion bash)
_stillframe() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at="" i
  local commands="" options="" files=""
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
${pathCases(commands)}    esac
  done
  case "$at $prev" in
${valueCases(commands, bashReply)}  esac
  case "$at" in
${commands.map(bashWords).join('')}  esac
  if [[ $cur == -?* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  fi
  [[ -n $files ]] || compopt +o default 2>/dev/null || true
}
complete -o default -F _stillframe stillframe
`;
}

function bashReply(value: CompletedOption['value']): string {
  if (value === 'file') return '';
  if (typeof value === 'string') return 'compopt +o default 2>/dev/null; ';
  return `COMPREPLY=($(compgen -W ${quoted(value.join(' '))} -- "$cur")); `;
}

function bashWords({ at, commands, choices, options, takesFile }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices].join(' ');
  const flags = options.flatMap(({ names }) => names).join(' ');
  return `    ${quoted(at)}) commands=${quoted(words)} options=${quoted(flags)} files=${quoted(takesFile ? 'yes' : '')} ;;\n`;
}

/** Generates a script that works both sourced and as a function file named _stillframe. */
function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef stillframe
# stillframe completion for zsh. To use it: source <(stillframe completion zsh)
_stillframe() {
  local at='' word files=''
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
${pathCases(commands)}    esac
  done
  case "$at \${words[CURRENT-1]}" in
${valueCases(commands, zshReply)}  esac
  case "$at" in
${commands.map(zshWords).join('')}  esac
  if [[ $PREFIX == -?* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  elif [[ -n $files ]]; then
    _files
  fi
}
if [[ "\${funcstack[1]}" == _stillframe ]]; then
  _stillframe "$@"
else
  compdef _stillframe stillframe
fi
`;
}

function zshReply(value: CompletedOption['value']): string {
  if (value === 'file') return '_files; ';
  return typeof value === 'string' ? '' : `compadd -- ${value.map(quoted).join(' ')}; `;
}

function zshWords({ at, commands, choices, options, takesFile }: CompletedCommand): string {
  const words = [...commands.map(({ name, help }) => described(name, help)), ...choices.map(quoted)].join(' ');
  const flags = options.flatMap(({ names, help }) => names.map((name) => described(name, help))).join(' ');
  return `    ${quoted(at)}) commands=(${words}) options=(${flags}) files=${quoted(takesFile ? 'yes' : '')} ;;\n`;
}

function described(name: string, help: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${help}`);
}

function fishCompletion(commands: readonly CompletedCommand[]): string {
  return `# stillframe completion for fish. To use it: stillframe completion fish > ~/.config/fish/completions/stillframe.fish
function __stillframe_at
    set -l at ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        switch "$at $word"
${commands
  .filter(({ at }) => at !== '')
  .map(
    ({ at }) =>
      `            case ${fishQuoted(at.includes(' ') ? at : ` ${at}`)}\n                set at ${fishQuoted(at)}\n`,
  )
  .join('')}        end
    end
    test "$at" = "$argv[1]"
end
complete -c stillframe -f
${commands.flatMap(fishLines).join('\n')}
`;
}

function fishLines({ at, commands, choices, options, takesFile }: CompletedCommand): string[] {
  const head = `complete -c stillframe -n ${fishQuoted(`__stillframe_at "${at}"`)}`;
  return [
    ...commands.map(({ name, help }) => `${head} -a ${fishQuoted(name)} -d ${fishQuoted(help)}`),
    ...(choices.length === 0 ? [] : [`${head} -a ${fishQuoted(choices.join(' '))}`]),
    ...(takesFile ? [`${head} -F`] : []),
    ...options.map(({ names, help, value }) => {
      const spelt = names
        .map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
        .join(' ');
      return `${head} ${spelt}${flagsFor(value)} -d ${fishQuoted(help)}`;
    }),
  ];
}

function flagsFor(value: CompletedOption['value']): string {
  if (value === 'none') return '';
  if (value === 'file') return ' -r -F';
  return value === 'text' ? ' -x' : ` -x -a ${fishQuoted(value.join(' '))}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Generates the branches of a shell's `case "$at $word"`, which finds the subcommand of a command line. */
function pathCases(commands: readonly CompletedCommand[]): string {
  const below = commands.filter(({ at }) => at !== '');
  return below.map(({ at }) => `      ${quoted(at.includes(' ') ? at : ` ${at}`)}) at=${quoted(at)} ;;\n`).join('');
}

/**
 * Generates the branches of `case "$at $prev"`, which complete the value of an option.
 * @param replyTo makes the shell code for one option's values
 */
function valueCases(
  commands: readonly CompletedCommand[],
  replyTo: (value: CompletedOption['value']) => string,
): string {
  return commands
    .flatMap(({ at, options }) =>
      options
        .filter(({ value }) => value !== 'none')
        .map(
          ({ names, value }) =>
            `    ${names.map((name) => quoted(`${at} ${name}`)).join('|')}) ${replyTo(value)}return ;;\n`,
        ),
    )
    .join('');
}

/** Quotes a text as one shell word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
