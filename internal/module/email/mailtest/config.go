//go:build unix

package mailtest

import (
	"strconv"
	"strings"
)

// fill writes the values of a server into a text.
func (s *Server) fill(text string) string {
	return strings.NewReplacer(
		"DIR", s.dir, "OWNER", s.owner, "GROUP", s.group, "PASSWORD", Password, "TOKEN", Token,
		"IMAPS", strconv.Itoa(s.IMAPS), "IMAP", strconv.Itoa(s.IMAP),
		"SMTPS", strconv.Itoa(s.SMTPS), "SMTP", strconv.Itoa(s.SMTP),
	).Replace(text)
}

const dovecotConf = `base_dir = DIR/run
state_dir = DIR/state
log_path = DIR/log/dovecot
protocols = imap
listen = 127.0.0.1
default_internal_user = OWNER
default_internal_group = GROUP
default_login_user = OWNER
first_valid_uid = 1
first_valid_gid = 1
mail_home = DIR/home/%u
mail_location = maildir:~/Maildir
mail_uid = OWNER
mail_gid = GROUP
ssl = yes
ssl_cert = <DIR/cert.pem
ssl_key = <DIR/key.pem
disable_plaintext_auth = yes
auth_mechanisms = plain xoauth2 oauthbearer
auth_failure_delay = 0
passdb {
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = DIR/oauth.conf
}
passdb {
  driver = static
  mechanisms = plain
  args = password=PASSWORD
}
userdb {
  driver = static
  args = uid=OWNER gid=GROUP home=DIR/home/%u
}
namespace inbox {
  inbox = yes
  mailbox Entwurf {
    special_use = \Drafts
    auto = subscribe
  }
  mailbox Sent {
    special_use = \Sent
    auto = subscribe
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    port = IMAP
  }
  inet_listener imaps {
    port = IMAPS
    ssl = yes
  }
}
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service stats {
  chroot =
}
`

const oauthConf = `tokeninfo_url = http://127.0.0.1:%d/?token=
username_attribute = user
`

const eximConf = `primary_hostname = localhost
spool_directory = DIR/spool
log_file_path = DIR/log/exim-%slog
pid_file_path = DIR/run/exim.pid
exim_user = OWNER
exim_group = GROUP
keep_environment =
add_environment = PATH=/usr/bin
daemon_smtp_ports = SMTP : SMTPS
tls_on_connect_ports = SMTPS
local_interfaces = 127.0.0.1
tls_certificate = DIR/cert.pem
tls_privatekey = DIR/key.pem
tls_advertise_hosts = *
auth_advertise_hosts = ${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = rcpt
acl_smtp_data = accept
message_size_limit = 5M
deliver_drop_privilege
notifier_socket =
host_lookup =
rfc1413_hosts =

begin acl
rcpt:
  deny local_parts = nobody
       message = there is no such user
  accept authenticated = *
  deny message = log in first

begin routers
everybody:
  driver = accept
  local_parts = dsearch;DIR/home
  transport = maildir

begin transports
maildir:
  driver = appendfile
  directory = DIR/home/$local_part_data/Maildir
  maildir_format
  directory_mode = 0700
  mode = 0600

begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if eq{$auth3}{PASSWORD}}
  server_set_id = $auth2
xoauth2:
  driver = plaintext
  public_name = XOAUTH2
  server_prompts = :
  server_condition = ${if match{$auth1}{auth=Bearer TOKEN}}
  server_set_id = oauth
`
