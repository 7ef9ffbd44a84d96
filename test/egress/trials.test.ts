import { describe, expect, it } from 'vitest';
import { run as callerProxy } from '../stress/caller-proxy.js';
import { run as channels } from '../stress/channels.js';
import { run as failClosed } from '../stress/fail-closed.js';
import { run as rebinding } from '../stress/rebinding.js';
import { run as redirects } from '../stress/redirects.js';
import { run as vectors } from '../stress/vectors.js';

describe('in short, the trial', () => {
  it('channels: a browser finds no way out but its proxy', async () => {
    const { problems, figures } = await channels({ shapes: 1, sources: 0 });
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ connections: 0, datagrams: 0 });
    expect(figures.captures).toBeGreaterThan(0);
  });

  it('vectors: every spelling of a destination has its verdict', async () => {
    const { problems, figures } = await vectors({ every: 15 });
    expect(problems).toEqual([]);
    expect(figures.rows).toBeGreaterThan(150);
    expect(figures).toMatchObject({ lookups_for_literals: 0, canary_connections: 0 });
  });

  it('rebinding: a connection goes where it was judged', async () => {
    const { problems, figures } = await rebinding({ captures: 4 });
    expect(problems).toEqual([]);
    expect(figures.connections).toBeGreaterThan(4);
  });

  it('redirects: chains end before a forbidden place', async () => {
    const { problems, figures } = await redirects({ every: 317 });
    expect(problems).toEqual([]);
    expect(figures.chains).toBeGreaterThan(9);
  });

  it('caller proxy: nothing goes another way', async () => {
    const { problems, figures } = await callerProxy({ rounds: 1, silence: 0, kinds: 'http' });
    expect(problems).toEqual([]);
    expect(figures.pictures).toBe(3);
    expect(figures.egress_unavailable).toBe(6);
  });

  it('fail closed: a proxy that dies leaves no other way', async () => {
    const { problems, figures } = await failClosed({ kills: 1 });
    expect(problems).toEqual([]);
    expect(figures.kills).toBeGreaterThan(0);
  });
});
