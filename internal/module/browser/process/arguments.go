package process

import (
	"path/filepath"
	"strings"
)

// nowhere is a proxy that nothing listens behind. What the browser would fetch
// for itself, outside the contexts that sessions have with their own proxies,
// ends there.
const nowhere = "http://127.0.0.1:9"

// arguments is the command line of a browser that does what it is told and
// nothing else.
func arguments(o Options, dir string, sandboxed bool) []string {
	args := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + dir,
		"--crash-dumps-dir=" + filepath.Join(dir, tempName),

		// The network: every connection is made by a proxy, names are resolved
		// there too, and what cannot use a proxy is off.
		"--proxy-server=" + nowhere,
		"--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--dns-prefetch-disable",
		"--disable-quic",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-pings",

		// Nothing of its own accord.
		"--disable-background-networking",
		"--disable-breakpad",
		"--disable-crash-reporter",
		"--disable-client-side-phishing-detection",
		"--disable-component-extensions-with-background-pages",
		"--disable-component-update",
		"--disable-default-apps",
		"--disable-domain-reliability",
		"--disable-extensions",
		"--disable-field-trial-config",
		"--disable-print-preview",
		"--disable-search-engine-choice-screen",
		"--disable-sync",
		"--metrics-recording-only",
		"--no-default-browser-check",
		"--no-first-run",
		"--no-service-autorun",
		"--password-store=basic",
		"--safebrowsing-disable-auto-update",
		"--use-mock-keychain",

		// The same pages, whoever looks: no throttling of what is not in front,
		// no colours or caches that depend on the machine.
		"--allow-pre-commit-input",
		"--disable-back-forward-cache",
		"--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows",
		"--disable-dev-shm-usage",
		"--disable-hang-monitor",
		"--disable-ipc-flooding-protection",
		"--disable-popup-blocking",
		"--disable-prompt-on-repost",
		"--disable-renderer-backgrounding",
		"--enable-automation",
		"--force-color-profile=srgb",
		"--disable-features=" + strings.Join(disabledFeatures(), ","),
	}
	if !o.Visible {
		args = append(args, "--headless", "--hide-scrollbars", "--mute-audio", "--disable-gpu")
	}
	if !sandboxed {
		args = append(args, "--no-sandbox")
	}
	return append(args, "--no-startup-window")
}

// disabledFeatures are what Chromium does behind a page's back: it guesses,
// upgrades, translates, discovers devices, and asks services about what it
// sees.
func disabledFeatures() []string {
	return []string{
		"AutofillServerCommunication", "CertificateTransparencyComponentUpdater", "DialMediaRouteProvider",
		"DnsOverHttps", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "InterestFeedContentSuggestions",
		"LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
		"Prerender2", "SpeculationRulesPrefetchFuture", "NoStatePrefetch", "PreconnectToSearch",
		"Translate", "WebTransport", "AsyncDns", "GlobalMediaControls", "DestroyProfileOnBrowserClose",
	}
}
