import { createTransport } from 'nodemailer';
import { formatOf } from '../contract/capture-data.js';
import type { PublicPlaces } from '../contract/job.js';
import { escapeMarkup } from '../contract/markup.js';
import type { Send } from '../contract/watch.js';
import { inlinePicture, picturesPdf } from './picture-file.js';
import { describeEvent, type MessageContext, titleOf } from './say-message.js';

/** The operator's SMTP server. */
export interface MailSettings {
  /** STILLFRAME_SMTP_URL: `smtp:` or `smtps:`, with user name and password. */
  smtpUrl: string;
  /** STILLFRAME_MAIL_FROM. */
  mailFrom: string;
}

export interface Mailer {
  /** Sends to one recipient. @throws errors of the SMTP server, with `responseCode` if it has answered */
  send(telling: MessageContext, mail: OutgoingMail): Promise<void>;
  close(): void;
}

interface OutgoingMail {
  email: NonNullable<Send['email']>;
  to: string;
  /** Reads a stored picture; null if it is deleted, or too large. */
  picture(name: string): Promise<Buffer | null>;
}

const TIMEOUT_MS = 20_000;
const CONNECTIONS_MAX = 2;
/** Characters of a diff in a mail. */
const DIFF_MAX_CHARS = 20_000;

export function openMailer(
  { smtpUrl, mailFrom }: MailSettings,
  links: { places: PublicPlaces; signLink(text: string): string },
): Mailer {
  const transport = transportOf(smtpUrl);
  const host = mailFrom.slice(mailFrom.lastIndexOf('@') + 1).replace('>', '');
  return {
    async send(telling, { email, to, picture }) {
      const { message, watch, run } = telling;
      const shown = await inlineOf(telling, picture);
      const whole = run.picture === null || email.attach === 'none' ? null : await picture(run.picture);
      const unsubscribe = unsubscribeUrl(links, watch.id, to);
      const thread = `<${watch.id}@${host}>`;
      await transport.sendMail({
        from: mailFrom,
        to,
        subject:
          message.event === 'watch.changed' || message.event === 'watch.report'
            ? (email.subject ?? titleOf(telling))
            : titleOf(telling),
        messageId: `<${message.id}${message.generation === 1 ? '' : `.${message.generation}`}@${host}>`,
        inReplyTo: thread,
        references: [thread],
        headers: {
          'Auto-Submitted': 'auto-generated',
          'List-Id': thread.replace('@', '.'),
          'List-Unsubscribe': `<${unsubscribe}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        },
        text: textOf(telling, { unsubscribe, ...links.places }),
        html: htmlOf(telling, { unsubscribe, ...links.places, hasPicture: shown !== null }),
        attachments: [
          ...(shown === null
            ? []
            : [{ cid: PICTURE_CID, filename: 'picture.jpg', content: shown, contentDisposition: 'inline' as const }]),
          ...(whole === null || run.picture === null ? [] : [await attachmentOf(whole, run.picture, email.attach)]),
        ],
        // No other files are read.
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    },
    close: () => transport.close(),
  };
}

/** Connects, and logs in. @throws what the SMTP server or the connection reports */
export async function checkMail({ smtpUrl }: Pick<MailSettings, 'smtpUrl'>): Promise<void> {
  const transport = transportOf(smtpUrl);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

function transportOf(url: string) {
  const limits = {
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
  };
  return createTransport({ url, pool: true, maxConnections: CONNECTIONS_MAX, ...limits });
}

/** The text that the link to unsubscribe signs. */
export function unsubscribeText(watchId: string, to: string): string {
  return `unsubscribe ${watchId} ${to}`;
}

function unsubscribeUrl(
  { places, signLink }: { places: PublicPlaces; signLink(text: string): string },
  watchId: string,
  to: string,
): string {
  const query = new URLSearchParams({ to, signature: signLink(unsubscribeText(watchId, to)) });
  return `${places.baseUrl}/v1/watches/${watchId}/unsubscribe?${query}`;
}

/** Before and after with the changes outlined, or else the picture. A PDF, and what has no picture, shows none. */
async function inlineOf({ run }: MessageContext, picture: OutgoingMail['picture']): Promise<Buffer | null> {
  const name = run.changes ?? run.picture;
  const content = name === null || name.endsWith('.pdf') ? null : await picture(name);
  return content === null ? null : await inlinePicture(content).catch(() => null);
}

async function attachmentOf(content: Buffer, name: string, as: 'picture' | 'pdf' | 'none') {
  const format = formatOf(name);
  if (as === 'picture' || format === 'pdf') return { filename: `picture.${format}`, content };
  return { filename: 'picture.pdf', content: await picturesPdf([content]) };
}

const PICTURE_CID = 'picture@stillframe';

interface Links extends PublicPlaces {
  unsubscribe: string;
}

function linksOf({ run, historyUrl }: MessageContext, { baseUrl, unsubscribe }: Links): [name: string, url: string][] {
  const picture = run.picture === null ? [] : [['Picture', `${baseUrl}/artifacts/${run.picture}`] as [string, string]];
  return [...picture, ['History', historyUrl], ['Stop these mails', unsubscribe]];
}

function textOf(telling: MessageContext, links: Links): string {
  const { data } = telling.run;
  const lines = [
    describeEvent(telling),
    ...(data === null ? [] : [data.finalUrl]),
    '',
    ...linksOf(telling, links).map(([name, url]) => `${name}: ${url}`),
  ];
  return [...lines, ...(data?.diff ? ['', data.diff.slice(0, DIFF_MAX_CHARS)] : [])].join('\n');
}

function htmlOf(telling: MessageContext, links: Links & { hasPicture: boolean }): string {
  const { data, changes } = telling.run;
  const alt =
    changes === null ? 'The picture of the page' : 'The page before and after, with what has changed outlined';
  const image = `<p><a href="${escapeMarkup(links.baseUrl)}/artifacts/${telling.run.picture ?? ''}"><img src="cid:${PICTURE_CID}" alt="${alt}" style="max-width:100%;height:auto;border:1px solid #ccc"></a></p>`;
  const address = data === null ? '' : `<p style="color:#555">${escapeMarkup(data.finalUrl)}</p>`;
  const diff = data?.diff
    ? `<pre style="white-space:pre-wrap;font-size:13px;background:#f6f6f6;padding:8px">${escapeMarkup(data.diff.slice(0, DIFF_MAX_CHARS))}</pre>`
    : '';
  const shown = linksOf(telling, links).map(([name, url]) => `<a href="${escapeMarkup(url)}">${name}</a>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeMarkup(titleOf(telling))}</title></head><body style="font-family:sans-serif;font-size:15px;color:#222;max-width:1200px"><p><strong>${escapeMarkup(describeEvent(telling))}</strong></p>${address}${links.hasPicture ? image : ''}${diff}<p style="color:#555">${shown.join(' · ')}</p></body></html>`;
}
