import { expect, it } from 'vitest';
import { withPlace } from '../../src/cli/batch.js';

it('says which line or request of the file the server has refused', () => {
  const refused = () =>
    Object.assign(new Error('`requests.1.url` no'), { details: { issues: [{ path: 'requests.1.url' }] } });
  const messageOf = (error: unknown) => (error as Error).message;
  expect(messageOf(withPlace(refused(), 'pages.txt', [2, 5]))).toBe('pages.txt:5: `requests.1.url` no');
  expect(messageOf(withPlace(refused(), 'pages.yml', []))).toBe('Request 2 of pages.yml: `requests.1.url` no');
  expect(messageOf(withPlace(new Error('gone'), 'pages.txt', [2, 5]))).toBe('gone');
});
