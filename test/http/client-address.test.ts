import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { isLoopback } from '../../src/http/client-address.js';

const from = (remoteAddress: string, headers: Record<string, string>) =>
  isLoopback({ socket: { remoteAddress } as Socket, headers });

test.each(['localhost', 'LocalHost:3000', '127.0.0.1', '127.0.0.1:3000', '127.0.0.2:9', '[::1]:3000'])(
  'a request of this machine to %s is one to itself',
  (host) => {
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect(from(address, { host })).toBe(true);
    expect(from('203.0.113.9', { host })).toBe(false);
    for (const name of ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip']) {
      expect([name, from('127.0.0.1', { host, [name]: 'x' })]).toEqual([name, false]);
    }
  },
);

test.each([
  'shots.example.com',
  'rebound.example.com:3000',
  '127.0.0.1.example.com',
  'localhost.example.com',
  '[::2]',
  '203.0.113.9',
  '',
])('one to %j is not', (host) => {
  expect(from('127.0.0.1', { host })).toBe(false);
});
