/** How bot walls are told: one row per vendor and kind of page. A row holds when every condition that it names holds. */

export interface WallSign {
  vendor: string;
  /** `name: pattern` of a response header. */
  header?: { name: string; pattern: RegExp };
  /** Of the document. */
  title?: RegExp;
  /** A selector that matches at least one element. */
  marker?: string;
  /** A selector of a captcha's box: matches at least one that is rendered, though perhaps still empty. */
  widget?: string;
  /** In the visible text. */
  text?: RegExp;
  status?: readonly number[];
  /** The page has next to no text of its own, so that what matched fills it. */
  bare?: true;
}

/** The first row that holds names the vendor; rows that prove a challenge by themselves come first. */
export const WALL_SIGNS: readonly WallSign[] = [
  { vendor: 'cloudflare', header: { name: 'cf-mitigated', pattern: /challenge/i } },
  {
    vendor: 'cloudflare',
    title: /^(just a moment|attention required!? \| cloudflare)/i,
    marker:
      '[id^="cf-"],#challenge-form,#challenge-running,script[src*="/cdn-cgi/challenge-platform/"],.cf-error-details,#challenge-error-text',
  },
  {
    vendor: 'cloudflare',
    marker: '#challenge-form,#challenge-running,#challenge-stage,#cf-challenge-running,#challenge-error-text',
    bare: true,
  },
  {
    vendor: 'cloudflare',
    marker: 'script[src*="/cdn-cgi/challenge-platform/h/"]',
    text: /verif(y|ying) you are human|checking (your browser|if the site connection)|needs to review the security/i,
    bare: true,
  },
  {
    vendor: 'cloudflare',
    status: [403, 429, 503],
    header: { name: 'server', pattern: /^cloudflare$/i },
    marker: '#cf-wrapper,#cf-error-details,.cf-error-details',
  },
  { vendor: 'datadome', marker: 'iframe[src*="captcha-delivery.com"],script[src*="captcha-delivery.com"]', bare: true },
  { vendor: 'datadome', status: [401, 403, 405, 429], header: { name: 'x-datadome', pattern: /./ } },
  { vendor: 'datadome', status: [401, 403, 405, 429], header: { name: 'x-dd-b', pattern: /./ } },
  { vendor: 'perimeterx', marker: '#px-captcha,#px-captcha-wrapper', bare: true },
  { vendor: 'perimeterx', title: /^access to this page has been denied/i },
  { vendor: 'perimeterx', status: [403, 429], header: { name: 'x-px-block', pattern: /./ } },
  {
    vendor: 'akamai',
    marker: '#sec-if-cpt-container,#sec-cpt-if,iframe[src*="/_sec/cp_challenge/"],script[src*="/_sec/cp_challenge/"]',
    bare: true,
  },
  { vendor: 'akamai', title: /^access denied$/i, text: /reference\s*#?\s*[\da-f]+\.[\da-f]+\.\d+\.[\da-f]+/i },
  { vendor: 'akamai', text: /errors\.edgesuite\.net/i, bare: true },
  { vendor: 'akamai', status: [403, 429], header: { name: 'server', pattern: /akamai(ghost|netstorage)/i } },
  { vendor: 'imperva', marker: 'iframe[src*="_Incapsula_Resource"]', bare: true },
  { vendor: 'imperva', marker: 'meta[name="robots" i]~script[src*="_Incapsula_Resource"]', text: NO_WORDS(), bare: true },
  { vendor: 'imperva', text: /incapsula incident id/i, bare: true },
  { vendor: 'imperva', title: /^pardon our interruption/i },
  { vendor: 'imperva', status: [403, 429, 503], header: { name: 'x-iinfo', pattern: /./ } },
  { vendor: 'aws_waf', header: { name: 'x-amzn-waf-action', pattern: /challenge|captcha/i } },
  {
    vendor: 'aws_waf',
    marker: '#challenge-container,#captcha-container',
    title: /human verification|^$/i,
    text: /confirm you are human|javascript is disabled|let's confirm/i,
    bare: true,
  },
  { vendor: 'aws_waf', marker: 'script[src*=".captcha.awswaf.com/"],script[src*=".captcha-sdk.awswaf.com/"]', bare: true },
  { vendor: 'aws_waf', marker: 'script[src*=".token.awswaf.com/"]', text: NO_WORDS(), bare: true },
  { vendor: 'kasada', status: [403, 405, 429], header: { name: 'x-kpsdk-ct', pattern: /./ } },
  { vendor: 'kasada', marker: 'script[src*="/ips.js"][src*="KP_UIDz"]', bare: true },
  { vendor: 'kasada', marker: 'script[src*="/149e9513-01fa-4fb0-aad4-566afd725d1b/"]', text: NO_WORDS(), bare: true },
  { vendor: 'sucuri', title: /sucuri (website firewall|cloudproxy)/i },
  { vendor: 'sucuri', status: [403, 503], header: { name: 'x-sucuri-block', pattern: /./ } },
  { vendor: 'f5', text: /the requested url was rejected\. please consult with your administrator/i, bare: true },
  { vendor: 'vercel', title: /^vercel security checkpoint/i },
  { vendor: 'vercel', header: { name: 'x-vercel-mitigated', pattern: /challenge|deny/i } },
  { vendor: 'google', text: /our systems have detected unusual traffic from your computer network/i, bare: true },
  { vendor: 'amazon', marker: 'form[action*="/errors/validateCaptcha"]' },
  { vendor: 'ddos_guard', title: /^ddos-guard$/i },
  { vendor: 'ddos_guard', status: [403, 429, 503], header: { name: 'server', pattern: /^ddos-guard$/i } },
  { vendor: 'anubis', marker: 'script#anubis_challenge,#anubis_challenge', bare: true },
  { vendor: 'geetest', marker: '.geetest_captcha,.geetest_holder,.geetest_panel', bare: true },
  { vendor: 'arkose', marker: 'iframe[src*="arkoselabs.com"],iframe[src*="funcaptcha.com"]', bare: true },
  // Their scripts stand in ordinary pages as well, where they keep score out of sight.
  {
    vendor: 'turnstile',
    widget:
      '.cf-turnstile:not([data-size="invisible"]),div:has(>input[name="cf-turnstile-response"]),iframe[src*="challenges.cloudflare.com"]',
    text: HUMAN(),
    bare: true,
  },
  {
    vendor: 'hcaptcha',
    widget: '.h-captcha:not(button,[data-size="invisible"]),iframe[src*="hcaptcha.com"]:not([src*="invisible"],[src*="frame=challenge"])',
    text: HUMAN(),
    bare: true,
  },
  {
    vendor: 'recaptcha',
    widget: '.g-recaptcha:not(button,[data-size="invisible"]),iframe[src*="/recaptcha/"]:not([src*="size=invisible"],[src*="/bframe"])',
    text: HUMAN(),
    bare: true,
  },
  {
    vendor: 'unknown',
    title:
      /^(are you (a )?human|are you a robot|human verification|bot verification|robot check|security check( required)?|verify(ing)? (that )?you are (a )?human|captcha( challenge)?|access denied \(bot\))\b/i,
    bare: true,
  },
  {
    vendor: 'unknown',
    text: /^.{0,120}\b(verify(ing)? (that )?you('re| are) (a )?human|prove (that )?you('re| are) (a )?human|confirm (that )?you('re| are) not a (ro)?bot|please complete the (security check|captcha)|checking your browser before accessing)/is,
    bare: true,
  },
];

/** The scripts of these stand in ordinary pages too; their challenges say nothing at all. */
function NO_WORDS(): RegExp {
  return /^$/;
}

/** What asks a visitor to prove to be one, as whole phrases: a page may well speak of robots and of verified builders. */
function HUMAN(): RegExp {
  const phrases = [
    `(verify(ing)?|confirm(ing)?|prove|check(ing)?|make sure|ensure|show)( that| if)? you(['’]re| are) (a |an |really |actually )*(human|real person|not a (ro)?bot\\b)`,
    '(not|are you) a (ro)?bot\\b',
    'are you (a )?(human|real person)',
    '(human|bot|captcha) (verification|check|challenge)',
    'checking your browser',
    'security (check|verification)',
    '(complete|solve|enter|pass|type|fill (in|out)) (the |this |a |our )?(following )?((re|h)?captcha|challenge)',
    'unusual (traffic|activity)',
    'access (to this (page|site) )?(is |has been )?(denied|blocked|restricted)',
    // German, Dutch, Swedish, Danish, Norwegian
    'kein(en)? (roboter|bot\\b)',
    '(ein )?mensch (sind|bist)',
    'captcha (lösen|eingeben|ausfüllen)',
    'geen robot',
    'een mens bent',
    '(inte|ikke) (är |er )?en robot',
    // French, Spanish, Portuguese, Italian
    'pas un robot',
    'êtes (bien )?(un )?(être )?humain',
    '(résou|résolvez|complét|rempli)[a-z]* (le|ce) captcha',
    'no (eres|es|soy|sea) un robot',
    '(eres|es) (un )?(ser )?humano',
    '(resuelv|resolv|complet)[a-z]* (el|este|o) captcha',
    'não (é|sou) um robô',
    'é (um )?(ser )?humano',
    'non (sei|sono|è) un robot',
    '(sei|è) (un )?(essere )?umano',
    '(risolv|complet)[a-z]* il captcha',
    // Polish, Russian, Turkish
    'nie (jesteś|jestem) robotem',
    'jesteś człowiekiem',
    'не робот',
    'вы (—|-)? ?человек',
    '(решите|введите|пройдите) капч',
    'robot olmad',
    'insan olduğ',
    // Japanese, Korean, Chinese
    'ロボットでは(ない|あり)',
    '人間である',
    '로봇이 아',
    '사람인지',
    '不是机器人',
    '不是機器人',
    '人机验证',
    '人機驗證',
  ];
  return new RegExp(`(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{N}])(${phrases.join('|')})`, 'iu');
}
