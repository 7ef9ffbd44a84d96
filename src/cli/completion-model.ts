import type { Command, Option } from 'commander';

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

/** Generates the branches of a shell's `case "$at $word"`, which finds the subcommand of a command line. */
export function pathCases(commands: readonly CompletedCommand[]): string {
  const below = commands.filter(({ at }) => at !== '');
  return below.map(({ at }) => `      ${quoted(at.includes(' ') ? at : ` ${at}`)}) at=${quoted(at)} ;;\n`).join('');
}

/**
 * Generates the branches of `case "$at $prev"`, which complete the value of an option.
 * @param replyTo makes the shell code for one option's values
 */
export function valueCases(commands: readonly CompletedCommand[], replyTo: (value: CompletedOption['value']) => string): string {
  return commands
    .flatMap(({ at, options }) =>
      options
        .filter(({ value }) => value !== 'none')
        .map(({ names, value }) => `    ${names.map((name) => quoted(`${at} ${name}`)).join('|')}) ${replyTo(value)}return ;;\n`),
    )
    .join('');
}

/** Quotes a text as one shell word. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
