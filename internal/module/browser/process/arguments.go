package process

import (
	"path/filepath"
	"strings"
)

// nowhere is a proxy at which nothing listens. It takes what the browser would fetch for
// itself, outside the contexts of sessions, which have proxies of their own.
const nowhere = "http://127.0.0.1:9"

// arguments is the command line of a browser that does nothing of its own accord.
func arguments(o Options, dir string, by walls) []string {
	args := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + dir,
		"--crash-dumps-dir=" + filepath.Join(dir, tempName),
	}
	args = append(args, networkArguments()...)
	args = append(args, quietArguments()...)
	args = append(args, pageArguments()...)
	args = append(args, "--disable-features="+strings.Join(disabledFeatures(), ","))
	if !o.Visible {
		args = append(args, "--headless", "--hide-scrollbars", "--mute-audio", "--disable-gpu")
	}
	if by != chromiums {
		args = append(args, "--no-sandbox")
	}
	return append(args, "--no-startup-window")
}

// networkArguments make a proxy open every connection and resolve every name, and turn
// off what cannot use a proxy.
func networkArguments() []string {
	return []string{
		"--proxy-server=" + nowhere,
		"--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.*",
		"--dns-prefetch-disable",
		"--disable-quic",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-pings",
	}
}

// quietArguments turn off what the browser does on its own.
func quietArguments() []string {
	return []string{
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
	}
}

// pageArguments make pages behave the same everywhere: background tabs are not throttled,
// and neither colours nor caches depend on the machine.
func pageArguments() []string {
	return []string{
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
	}
}

// disabledFeatures are what Chromium adds to a page: it prefetches, upgrades addresses,
// translates, discovers devices, and asks services about what it sees. The last two start a
// process for the address bar of each new profile, which doubles the time that a profile
// takes.
func disabledFeatures() []string {
	return []string{
		"AutofillServerCommunication", "CertificateTransparencyComponentUpdater", "DialMediaRouteProvider",
		"DnsOverHttps", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "InterestFeedContentSuggestions",
		"LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
		"Prerender2", "SpeculationRulesPrefetchFuture", "NoStatePrefetch", "PreconnectToSearch",
		"Translate", "WebTransport", "AsyncDns", "GlobalMediaControls", "DestroyProfileOnBrowserClose",
		"WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
	}
}
