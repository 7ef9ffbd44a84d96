import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settingsPage } from '../scripts/write-settings.js';
import { CONFIG_FILE, readConfig, SETTINGS, unknownSettings } from '../src/config.js';
import { ConfigError } from '../src/contract/config-error.js';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'stillframe-config-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const read = (flags: Record<string, string> = {}, env: Record<string, string> = {}) =>
  readConfig(flags, { STILLFRAME_DATA_DIR: dataDir, ...env });

describe('the settings', () => {
  it('name each variable that looks like a setting and is none, with the nearest setting', () => {
    const env = {
      STILLFRAME_CONCURENCY: '2',
      STILLFRAME_COLOR_OF_THE_SKY: 'blue',
      STILLFRAME_PORT: '1',
      STILLFRAME_KEY: 'sf_live_x',
      PATH: '/bin',
    };
    expect(unknownSettings(env)).toEqual([
      'STILLFRAME_CONCURENCY is not a setting, and has no effect. Did you mean STILLFRAME_CONCURRENCY?',
      'STILLFRAME_COLOR_OF_THE_SKY is not a setting, and has no effect.',
    ]);
  });

  it('take a flag over a variable over the file over the default', () => {
    expect(read().port).toBe(3000);
    writeFileSync(join(dataDir, CONFIG_FILE), JSON.stringify({ port: 4001 }));
    expect(read().port).toBe(4001);
    expect(read({}, { STILLFRAME_PORT: '4002' }).port).toBe(4002);
    expect(read({ port: '4003' }, { STILLFRAME_PORT: '4002' }).port).toBe(4003);
  });

  it('take the former names of settings, also beside the present ones if they agree', () => {
    const both = (former: string, present: string) =>
      read({}, { STILLFRAME_DOORS: former, STILLFRAME_COMPATIBLE_APIS: present });
    expect(read({}, { STILLFRAME_DOORS: 'grafana' }).compatibleApis).toEqual(['grafana']);
    expect(both('grafana,gotenberg', 'grafana, gotenberg').compatibleApis).toEqual(['grafana', 'gotenberg']);
    expect(() => both('grafana', 'gotenberg')).toThrow(
      'STILLFRAME_DOORS is the former name of STILLFRAME_COMPATIBLE_APIS, and they differ',
    );
    expect(unknownSettings({ STILLFRAME_DOORS: 'grafana', STILLFRAME_DOOR_KEY: 'x' })).toEqual([]);
  });

  it.each([
    ['STILLFRAME_PORT', '70000', 'from 0 to 65535'],
    ['STILLFRAME_CONCURRENCY', 'many', 'whole number'],
    ['STILLFRAME_LOG', 'loud', 'one of fatal'],
    ['STILLFRAME_BASE_URL', 'example.com', 'http or https URL'],
    [
      'STILLFRAME_ALLOWED_HOSTS',
      'stillframe,http://a.example',
      'comma-separated list of host names without scheme and port',
    ],
    ['STILLFRAME_ALLOWED_HOSTS', 'stillframe:3000', 'comma-separated list of host names without scheme and port'],
    ['STILLFRAME_ALLOWED_HOSTS', '*', 'comma-separated list of host names without scheme and port'],
    ['STILLFRAME_WEBHOOK_ALLOW', '127.0.0.1:4000', 'comma-separated list of origins'],
    ['STILLFRAME_WEBHOOK_ALLOW', 'https://hooks.corp/path', 'comma-separated list of origins'],
    ['STILLFRAME_WEBHOOK_ALLOW', 'https://user@hooks.corp', 'comma-separated list of origins'],
    ['STILLFRAME_WEBHOOK_ALLOW', 'ftp://hooks.corp', 'comma-separated list of origins'],
    ['STILLFRAME_DNS_SERVERS', 'dns.example', 'ip[:port]'],
    ['STILLFRAME_DNS_SERVERS', '127.0.0.1:99999', 'ip[:port]'],
    ['STILLFRAME_WEBHOOK_BACKOFF_MS', '5s', 'whole milliseconds'],
    ['STILLFRAME_ROLES', 'api,cook', 'comma-separated list of api, capture, webhook'],
    ['STILLFRAME_S3_ENDPOINT', 'https://user@s3.corp', 'without credentials'],
    ['STILLFRAME_S3_ENDPOINT', 's3.corp', 'http or https URL'],
    ['STILLFRAME_S3_BUCKET', 'a', 'the name of a bucket'],
    ['STILLFRAME_S3_BUCKET', 'pictures//a', 'alone or with a path'],
    ['STILLFRAME_SANDBOX', 'maybe', 'true, false or required'],
    ['STILLFRAME_ARTIFACT_TTL_H', '-1', 'a number of hours'],
    ['STILLFRAME_TOLERATE', 'everything', 'comma-separated list of target_error'],
  ])('name a wrong %s, its value and what is allowed', (variable, value, allowed) => {
    expect(() => read({}, { [variable]: value })).toThrow(ConfigError);
    expect(() => read({}, { [variable]: value })).toThrow(variable);
    expect(() => read({}, { [variable]: value })).toThrow(`"${value}"`);
    expect(() => read({}, { [variable]: value })).toThrow(allowed);
  });

  it('read comma lists', () => {
    expect(read({}, { STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2, 10.0.0.0/8' }).allowDestinations).toEqual([
      '127.0.0.2',
      '10.0.0.0/8',
    ]);
    expect(read({}, { STILLFRAME_WEBHOOK_BACKOFF_MS: '10,20' }).webhookBackoffMs).toEqual([10, 20]);
    const servers = ['127.0.0.1:5353', '127.0.0.1', '::1', '[::1]', '[fd00::53]:5353'];
    expect(read({}, { STILLFRAME_DNS_SERVERS: servers.join(',') }).dnsServers).toEqual(servers);
    const origins = 'http://127.0.0.1:80, https://Hooks.corp:443/, http://[::1]:4000';
    expect(read({}, { STILLFRAME_WEBHOOK_ALLOW: origins }).webhookAllow).toEqual([
      'http://127.0.0.1',
      'https://hooks.corp',
      'http://[::1]:4000',
    ]);
  });

  it('refuse an unknown name in the file', () => {
    writeFileSync(join(dataDir, CONFIG_FILE), JSON.stringify({ prot: 1 }));
    expect(() => read()).toThrow('"prot"');
  });

  it('never take secrets from flags', () => {
    const secrets = Object.values(SETTINGS).filter(({ flag }) => flag === null);
    expect(secrets.map(({ env }) => env).sort()).toEqual([
      'COMPATIBLE_APIS_KEY',
      'DATABASE_URL',
      'METRICS_TOKEN',
      'PROXY_PASSWORD',
      'S3_ACCESS_KEY_ID',
      'S3_SECRET_ACCESS_KEY',
      'SECRET_KEY',
      'SMTP_URL',
    ]);
  });

  it('stand in docs/settings.md as they are: run `node scripts/run-ts.mjs scripts/write-settings.ts` after a change', () => {
    expect(readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8')).toBe(settingsPage());
  });
});
