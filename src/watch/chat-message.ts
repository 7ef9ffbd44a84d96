import type { PublicPlaces } from '../contract/job.js';
import type { ChatForm, Send } from '../contract/watch.js';
import { describeEvent, type MessageContext, titleOf } from './say-message.js';

/** Characters of a diff in a message. */
const DIFF_MAX_CHARS = 1_500;
/** Characters of a section's text, of which Slack refuses more. */
const SLACK_TEXT_MAX_CHARS = 3_000;

/** A message in the form of the service that the address belongs to. */
export function chatMessage(
  { url, form }: NonNullable<Send['slack']>,
  telling: MessageContext,
  { baseUrl }: PublicPlaces,
): Record<string, unknown> {
  const { run, historyUrl } = telling;
  const artifact = run.changes ?? run.picture;
  // Slack refuses a message whose picture it cannot load.
  const isShown = artifact !== null && !artifact.endsWith('.pdf') && baseUrl.startsWith('https:');
  const picture = isShown ? `${baseUrl}/artifacts/${artifact}` : null;
  const diff = (run.data?.diff ?? '').slice(0, DIFF_MAX_CHARS);
  return FORMS[form ?? formOf(url)]({
    title: titleOf(telling),
    text: describeEvent(telling),
    diff,
    picture,
    link: historyUrl,
  });
}

function formOf(url: string): ChatForm {
  const { hostname, pathname } = new URL(url);
  if (/(^|\.)(discord|discordapp)\.com$/.test(hostname)) return 'discord';
  if (/\.(webhook\.office\.com|logic\.azure\.com|powerplatform\.com)$/.test(hostname)) return 'teams';
  return pathname.includes('/hooks/') && !/(^|\.)slack\.com$/.test(hostname) ? 'mattermost' : 'slack';
}

interface ChatText {
  title: string;
  text: string;
  diff: string;
  picture: string | null;
  link: string;
}

const FORMS: Record<ChatForm, (text: ChatText) => Record<string, unknown>> = {
  slack: ({ title, text, diff, picture, link }) => ({
    text: escaped(title),
    blocks: [
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: slackText(`*${escaped(title)}*\n${escaped(text)}`, fenced(escaped(diff))),
        },
      },
      ...(picture === null ? [] : [{ type: 'image', image_url: picture, alt_text: title }]),
      { type: 'context', elements: [{ type: 'mrkdwn', text: `<${link}|History>` }] },
    ],
  }),
  mattermost: ({ title, text, diff, picture, link }) => ({
    attachments: [
      {
        fallback: withoutMentions(title),
        title: withoutMentions(title),
        title_link: link,
        text: `${withoutMentions(text)}${diff === '' ? '' : `\n\`\`\`diff\n${fenced(diff)}\n\`\`\``}`,
        ...(picture === null ? {} : { image_url: picture }),
      },
    ],
  }),
  discord: ({ title, text, diff, picture, link }) => ({
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: title.slice(0, 256),
        url: link,
        description: `${text}${diff === '' ? '' : `\n\`\`\`diff\n${fenced(diff)}\n\`\`\``}`,
        ...(picture === null ? {} : { image: { url: picture } }),
      },
    ],
  }),
  teams: ({ title, text, diff, picture, link }) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'TextBlock', size: 'Medium', weight: 'Bolder', wrap: true, text: title },
            { type: 'TextBlock', wrap: true, text },
            ...(diff === '' ? [] : [{ type: 'TextBlock', wrap: true, fontType: 'Monospace', text: diff }]),
            ...(picture === null ? [] : [{ type: 'Image', url: picture, altText: title }]),
          ],
          actions: [{ type: 'Action.OpenUrl', title: 'History', url: link }],
        },
      },
    ],
  }),
};

/** A text with a block of code, as long as Slack allows, without half an escaped character. */
function slackText(text: string, code: string): string {
  const maxChars = SLACK_TEXT_MAX_CHARS - '\n``````'.length;
  const excerpt = text.slice(0, maxChars);
  const rest = code.slice(0, maxChars - excerpt.length).replace(/&[a-z]*$/, '');
  return rest === '' ? excerpt : `${excerpt}\n\`\`\`${rest}\`\`\``;
}

/** The three characters that Slack interprets; mentions and links need them. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Page text must not end the block of code that it stands in. */
function fenced(text: string): string {
  return text.replaceAll('```', "'''");
}

/** Page and watch names must not call everybody of a channel. */
function withoutMentions(text: string): string {
  return text.replaceAll('@', '@\u200b');
}
