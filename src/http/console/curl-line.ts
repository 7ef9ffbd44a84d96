import { FORM_FIELDS } from './form-fields.js';

/**
 * The request as a command for a shell. The secret of a webhook and the password of a proxy, which are never shown again, are left for the
 * reader to fill in; the key is that of the shell variable.
 */
export function curlLine(body: Record<string, unknown>, baseUrl: string): string {
  const json = JSON.stringify(withoutSecrets(body, ''), null, 1)
    .replaceAll(/\n */g, ' ')
    .replaceAll(/([{[]) (?=["{[\dtfn-])/g, '$1')
    .replaceAll(/ ([}\]])/g, '$1');
  return [
    `curl ${baseUrl}/v1/screenshot \\`,
    '  -H "Authorization: Bearer $STILLFRAME_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoted(json)}`,
  ].join('\n');
}

const SECRETS = new Set(FORM_FIELDS.filter(({ kind }) => kind === 'secret').map(({ name }) => name));

function withoutSecrets(value: unknown, path: string): unknown {
  if (SECRETS.has(path)) return '…';
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withoutSecrets(item, path === '' ? name : `${path}.${name}`)]),
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
