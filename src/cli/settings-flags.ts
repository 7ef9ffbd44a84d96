import { type Command, Option } from 'commander';
import { type Config, type ConfigFlags, readConfig, SETTINGS, unknownSettings } from '../config.js';
import { printLine } from './operator-error.js';

/** The settings of commands that capture without a server. */
export const CAPTURE_SETTINGS: readonly (keyof Config)[] = [
  'dataDir',
  'chromium',
  'browserInstall',
  'sandbox',
  'ffmpeg',
  'dnsServers',
  'allowDestinations',
  'denyDestinations',
  'lists',
];

/**
 * Adds the flags of these settings to a command. The help shows the variable and default of each, and the variables that have no flag.
 *
 * @param grouped under a heading per subject, for a command that has all settings
 */
export function addSettings(command: Command, names: readonly (keyof Config)[], grouped = false): Command {
  for (const name of names) {
    const option = flagOf(name);
    if (option !== null) command.addOption(option.helpGroup(grouped ? `${SETTINGS[name].group}:` : 'Settings:'));
  }
  const secrets = names.filter((name) => SETTINGS[name].flag === null);
  return secrets.length === 0
    ? command
    : command.addHelpText('after', (context) => describeVariables(context.command, secrets));
}

function flagOf(name: keyof Config): Option | null {
  const setting = SETTINGS[name];
  if (setting.flag === null) return null;
  const flags = setting.argument === '' ? setting.flag : `${setting.flag} ${setting.argument}`;
  return new Option(flags, `${setting.help}${describeDefault(name)} [STILLFRAME_${setting.env}]`);
}

function describeVariables(command: Command, names: readonly (keyof Config)[]): string {
  const helper = command.createHelp();
  const helpWidth = command.configureOutput().getOutHelpWidth?.();
  helper.prepareContext(helpWidth === undefined ? {} : { helpWidth });
  const variables = names.map((name) => ({
    term: `STILLFRAME_${SETTINGS[name].env}`,
    text: `${SETTINGS[name].help}${describeDefault(name)}`,
  }));
  const widest = Math.max(...variables.map(({ term }) => term.length));
  const items = variables.map(({ term, text }) => helper.formatItem(term, widest, text, helper));
  return `\nSecrets, from the environment or the configuration file only:\n${items.join('\n')}`;
}

function describeDefault(name: keyof Config): string {
  const { default: value, defaultText } = SETTINGS[name];
  if (defaultText !== undefined) return ` (default: ${defaultText})`;
  if (value === null || typeof value === 'boolean' || (Array.isArray(value) && value.length === 0)) return '';
  return ` (default: ${String(value)})`;
}

/**
 * The settings from the command line, the environment and the configuration file. Warns of variables that look like settings and are none.
 *
 * @throws ConfigError
 */
export function readSettings(command: Command): Config {
  for (const warning of unknownSettings()) printLine(`stillframe: ${warning}`);
  const flags: ConfigFlags = {};
  for (const name of Object.keys(SETTINGS) as (keyof Config)[]) {
    const flag = flagValue(command, name);
    if (flag !== undefined) flags[name] = flag;
  }
  return readConfig(flags);
}

function flagValue(command: Command, name: keyof Config): string | undefined {
  const { flag } = SETTINGS[name];
  if (flag === null) return undefined;
  const key = flag.replace(/^--(no-)?/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  for (let at: Command | null = command; at !== null; at = at.parent) {
    if (at.getOptionValueSource(key) === 'cli') return String(at.getOptionValue(key));
  }
  return undefined;
}

/** The place of the pictures, if it is not in the data directory. */
export const BUCKET_SETTINGS = [
  's3Endpoint',
  's3Bucket',
  's3Region',
  's3AccessKeyId',
  's3SecretAccessKey',
  's3VirtualHosted',
] as const;

export const ALL_SETTINGS = Object.keys(SETTINGS) as (keyof Config)[];
