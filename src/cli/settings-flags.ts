import { type Command, Option } from 'commander';
import { type Config, type ConfigFlags, readConfig, SETTINGS } from '../config.js';

/** Gives a command the flags of these settings, each with its variable and default in the help. */
export function addSettings(command: Command, names: readonly (keyof Config)[]): Command {
  for (const name of names) {
    const setting = SETTINGS[name];
    if (setting.flag === null) continue;
    const flags = setting.argument === '' ? setting.flag : `${setting.flag} ${setting.argument}`;
    command.addOption(new Option(flags, `${setting.help}${sayDefault(setting.default)} [STILLFRAME_${setting.env}]`));
  }
  return command;
}

function sayDefault(value: unknown): string {
  if (value === null || typeof value === 'boolean' || (Array.isArray(value) && value.length === 0)) return '';
  return ` (default: ${String(value)})`;
}

/** The settings as this command line, the environment and the configuration file say them. @throws ConfigError */
export function readSettings(command: Command): Config {
  const flags: ConfigFlags = {};
  for (const name of Object.keys(SETTINGS) as (keyof Config)[]) {
    const given = givenFlag(command, name);
    if (given !== undefined) flags[name] = given;
  }
  return readConfig(flags);
}

function givenFlag(command: Command, name: keyof Config): string | undefined {
  const { flag } = SETTINGS[name];
  if (flag === null) return undefined;
  const key = flag.replace(/^--(no-)?/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  for (let at: Command | null = command; at !== null; at = at.parent) {
    if (at.getOptionValueSource(key) === 'cli') return String(at.getOptionValue(key));
  }
  return undefined;
}

export const ALL_SETTINGS = Object.keys(SETTINGS) as (keyof Config)[];
