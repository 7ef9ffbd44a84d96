import { describe, expect, it } from 'vitest';
import { document } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

// innocent.test.ts shows which pages are recognised, without a capture of each.
describe('a bot wall', () => {
  it('is blocked_by_target, with its vendor', async () => {
    const headers = { 'content-type': 'text/html', 'cf-mitigated': 'challenge', server: 'cloudflare' };
    site.route('/wall', (_request, response) => response.writeHead(403, headers).end(document('Just a moment...', '<h1>shop.test</h1>')));
    expect(await rig.failure(site.url('/wall'))).toMatchObject({
      code: 'blocked_by_target',
      retriable: false,
      details: { vendor: 'cloudflare' },
    });
  });

  it('is recognised when a script replaces the page with it', async () => {
    site.route('/turned', (_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(
        `<h1>Welcome</h1><script>setTimeout(() => { document.body.innerHTML = '<p>Verify you are human</p><div class="cf-turnstile"></div>' }, 50)</script>`,
      );
    });
    expect(await rig.failure(site.url('/turned'))).toMatchObject({
      code: 'blocked_by_target',
      details: { vendor: 'turnstile', status: 200 },
    });
  });
});
