import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SETTINGS } from '../../src/config.js';
import { ROOT } from '../fixtures/documents.js';

const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
const COMPOSE_FILES = [
  'compose.yaml',
  ...readdirSync(join(ROOT, 'deploy')).flatMap((name) => (/compose.*\.ya?ml$/.test(name) ? [`deploy/${name}`] : [])),
];
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  engines: { node: string };
  bin: { stillframe: string };
};
const FILES = ['Dockerfile', ...COMPOSE_FILES, 'deploy/stillframe.service', 'docs/running.md'];
/** The instructions of the Dockerfile; those of its last image. */
const instructions = [
  ...read('Dockerfile')
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .matchAll(/^(\w+)\s+(.*)$/gm),
].map(([, name = '', text = '']) => ({ name, text }));
const steps = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
const lastOf = (wanted: string) => steps.findLast(({ name }) => name === wanted)?.text ?? '';

describe('the deployment files', () => {
  it.each(FILES)('%s names only settings that there are', (file) => {
    const known = Object.values(SETTINGS).map(({ env }) => `STILLFRAME_${env}`);
    const named = [...read(file).matchAll(/STILLFRAME_[A-Z0-9_]+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('agree with package.json on versions', () => {
    const [, minimum = ''] = />=(\d+)/.exec(manifest.engines.node) ?? [];
    const majors = instructions
      .filter(({ name }) => name === 'FROM')
      .map(({ text }) => Number(/^node:(\d+)-/.exec(text)?.[1]));
    expect(new Set(majors).size).toBe(1);
    expect(majors[0]).toBeGreaterThanOrEqual(Number(minimum));
    for (const file of ['compose.yaml', 'deploy/compose.cluster.yaml'])
      expect(read(file)).toContain(`image: stillframe:${manifest.version}`);
    expect(read('CHANGELOG.md')).toContain(`## [${manifest.version}]`);
    expect(manifest.version.split('.')[0]).toBe('1');
  });

  it('agree on the port and on the data directory', () => {
    const env = lastOf('ENV').split(/\s+/);
    expect(env).toContain(`STILLFRAME_PORT=${SETTINGS.port.default}`);
    expect(lastOf('EXPOSE')).toBe(String(SETTINGS.port.default));
    const volume = lastOf('VOLUME');
    expect(env).toContain(`STILLFRAME_DATA_DIR=${volume}`);
    expect(read('compose.yaml')).toContain(`data:${volume}`);
    expect(read('compose.yaml')).toContain(`:${SETTINGS.port.default}:${SETTINGS.port.default}"`);
    expect(read('docs/running.md')).toContain(`proxy_pass http://127.0.0.1:${SETTINGS.port.default};`);
  });

  it('build the image from files that there are, and start the program as another user than root', () => {
    const sent = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    for (const line of sent) expect(existsSync(join(ROOT, line.slice(1))), line).toBe(true);
    const made = ['dist', 'node_modules'];
    const copied = steps.flatMap(({ name, text }) =>
      name === 'COPY' ? [...text.matchAll(/\/app\/([\w.-]+)/g)].map(([, file = '']) => file) : [],
    );
    expect(copied).toContain('drizzle');
    expect(copied.filter((file) => !made.includes(file) && !sent.includes(`!${file}`))).toEqual([]);
    expect(steps.some(({ text }) => text.includes(`/app/${manifest.bin.stillframe} `))).toBe(true);
    expect(lastOf('USER')).toBe('stillframe');
    expect([...JSON.parse(lastOf('ENTRYPOINT')), ...JSON.parse(lastOf('CMD'))]).toEqual([
      '/usr/bin/tini',
      '--',
      'stillframe',
      'serve',
    ]);
    expect(lastOf('HEALTHCHECK')).toContain('/v1/health');
  });

  it('block dangerous system calls in the container, but not those that the sandbox of Chromium needs', () => {
    const profile = JSON.parse(read('deploy/seccomp.json')) as { syscalls: { names: string[] }[] };
    const refused = profile.syscalls.flatMap(({ names }) => names);
    expect(refused).toEqual(expect.arrayContaining(['mount', 'bpf', 'init_module', 'ptrace', 'keyctl']));
    expect(refused.filter((name) => ['clone', 'clone3', 'unshare', 'chroot', 'seccomp'].includes(name))).toEqual([]);
    expect(read('compose.yaml')).toContain('seccomp:./deploy/seccomp.json');
  });

  it('let running captures finish when they stop the service', () => {
    const drainSeconds = 30;
    const unit = Number(/TimeoutStopSec=(\d+)/.exec(read('deploy/stillframe.service'))?.[1]);
    const compose = Number(/stop_grace_period: (\d+)s/.exec(read('compose.yaml'))?.[1]);
    for (const seconds of [unit, compose]) expect(seconds).toBeGreaterThan(drainSeconds);
  });

  it('name a version of each image', () => {
    const images = COMPOSE_FILES.flatMap((file) => {
      const { services } = parse(read(file), { merge: true }) as { services: Record<string, { image?: string }> };
      return Object.entries(services).flatMap(([service, { image }]) =>
        image === undefined ? [] : [`${file} ${service} ${image}`],
      );
    });
    const bases = instructions.flatMap(({ name, text }) =>
      name === 'FROM' ? [`Dockerfile FROM ${text.split(' ')[0]}`] : [],
    );
    expect(images.length).toBeGreaterThan(4);
    expect([...images, ...bases].filter((image) => !/:\D*\d[\w.-]*$/.test(image))).toEqual([]);
  });
});
