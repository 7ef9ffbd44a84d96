import type { CompletedCommand } from './completion-model.js';

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  return `# stillframe completion for fish. To use it: stillframe completion fish > ~/.config/fish/completions/stillframe.fish
function __stillframe_at
    set -l at ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        switch "$at $word"
${commands
  .filter(({ at }) => at !== '')
  .map(({ at }) => `            case ${quoted(at.includes(' ') ? at : ` ${at}`)}\n                set at ${quoted(at)}\n`)
  .join('')}        end
    end
    test "$at" = "$argv[1]"
end
complete -c stillframe -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ at, commands, choices, options, takesFile }: CompletedCommand): string[] {
  const head = `complete -c stillframe -n ${quoted(`__stillframe_at "${at}"`)}`;
  return [
    ...commands.map(({ name, help }) => `${head} -a ${quoted(name)} -d ${quoted(help)}`),
    ...(choices.length === 0 ? [] : [`${head} -a ${quoted(choices.join(' '))}`]),
    ...(takesFile ? [`${head} -F`] : []),
    ...options.map(({ names, help, value }) => {
      const spelt = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ');
      return `${head} ${spelt}${flagsFor(value)} -d ${quoted(help)}`;
    }),
  ];
}

function flagsFor(value: 'text' | 'file' | 'none' | readonly string[]): string {
  if (value === 'none') return '';
  if (value === 'file') return ' -r -F';
  return value === 'text' ? ' -x' : ` -x -a ${quoted(value.join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
