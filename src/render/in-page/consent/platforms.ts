/**
 * Answers the consent platforms that autoconsent knows, by opting out; it never accepts. Bundled with autoconsent's rules
 * and run in the page's own world, whose functions some platforms must be asked through.
 */
import AutoConsent, { filterCompactRules, type IndexedCMPRuleset } from '@duckduckgo/autoconsent';
import rules from '@duckduckgo/autoconsent/rules/compact-rules.json';

export interface PlatformAnswer {
  /** autoconsent's name of the platform, null when none was found. */
  platform: string | null;
  outcome: 'none' | 'rejected' | 'hidden' | 'failed';
}

/** ms that a platform which is there may take to show its banner, and to take the answer. */
export interface Patience {
  popup: number;
  answer: number;
}

/** Resolves within `popup` + `answer` at the most, mostly at once. */
export function answerPlatform({ popup, answer }: Patience): Promise<PlatformAnswer> {
  return new Promise((resolve) => {
    let platform: string | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (outcome: PlatformAnswer['outcome']): void => {
      clearTimeout(timer);
      resolve({ platform: outcome === 'none' ? null : platform, outcome });
    };
    const allow = (ms: number, outcome: PlatformAnswer['outcome']): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end(outcome), ms);
    };
    allow(popup, 'none');
    const prompt = new Prompt(async (message) => {
      if (message.type === 'popupFound') {
        platform = message.cmp;
        allow(answer, 'failed');
      } else if (message.type === 'autoconsentDone') end(message.isCosmetic ? 'hidden' : 'rejected');
      else if (message.type === 'optOutResult' && !message.result) end('failed');
      else if (message.type === 'report' && message.state.lifecycle === 'optOutSucceeded') end('rejected');
      else if (message.type === 'report' && message.state.lifecycle === 'nothingDetected') end('none');
    });
    prompt.initialize(CONFIG, {
      autoconsent: [],
      compact: filterCompactRules(rules as unknown as IndexedCMPRuleset, { url: location.href, mainFrame: window.top === window }),
    });
  });
}

/** Starts when told, not when the page has nothing else to do. */
class Prompt extends AutoConsent {
  override start(): void {
    void this._start();
  }
}

const CONFIG = {
  enabled: true,
  autoAction: 'optOut' as const,
  disabledCmps: [],
  enablePrehide: false,
  enableCosmeticRules: true,
  detectRetries: 0,
  isMainWorld: true,
  // Its guesses at unknown banners may click what accepts; ours never do.
  heuristicMode: 'off' as const,
  enableHeuristicDetection: false,
  logs: { lifecycle: false, rulesteps: false, detectionsteps: false, evals: false, errors: false, messages: false, waits: false },
};
