/** Writes docs/settings.md: `node scripts/run-ts.mjs scripts/write-settings.ts`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SETTINGS, type Setting } from '../src/config.js';

const HEAD = `<!-- Written by scripts/write-settings.ts from src/config.ts. -->
# Settings

A flag beats an environment variable, which beats \`stillframe.config.json\` in the data directory (the variable's name in camelCase without
\`STILLFRAME_\`, such as \`syncWaitMs\`), which beats the default. \`stillframe serve --help\` lists all flags. Settings without a flag are
secrets, which other users of the machine could read from a command line.
`;

const FOOT = `
## Traces

\`OTEL_EXPORTER_OTLP_ENDPOINT\` and OpenTelemetry's other variables decide where traces are sent. There are none without them.
`;

/** The page as it should be now. */
export function settingsPage(): string {
  const settings = Object.values(SETTINGS);
  const groups = [...new Set(settings.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const rows = settings.filter((setting) => setting.group === group).map(rowOf);
    return `\n## ${group}\n\n| Variable | Flag | Default | Meaning |\n| - | - | - | - |\n${rows.join('\n')}\n`;
  });
  return `${HEAD}${sections.join('')}${FOOT}`;
}

function rowOf({ env, flag, help, note, ...setting }: Setting): string {
  const meaning = flag?.startsWith('--no-') ? `\`false\`: ${help}` : help;
  const cells = [
    `\`STILLFRAME_${env}\``,
    flag === null ? '–' : `\`${flag}\``,
    defaultOf(setting),
    `${meaning}${note === '' ? '' : `. ${note}`}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

function defaultOf({ default: value, defaultText }: Pick<Setting, 'default' | 'defaultText'>): string {
  if (defaultText !== undefined) return defaultText;
  return value === null || (Array.isArray(value) && value.length === 0) ? 'none' : String(value);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(new URL('../docs/settings.md', import.meta.url), settingsPage());
